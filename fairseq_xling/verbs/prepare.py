"""Turn plain text into a data folder: vocabulary, token files, word alignments.

    fairseq-xling prepare data-bin --languages en,de \\
        --mono train.en=en.txt --mono train.de=de.txt --mono valid.en=dev.txt \\
        --parallel train.en-de=corpus.en,corpus.de --vocab joint --vocab-size 8000

Text is UTF-8, a sentence per line, also as .gz or .xz. An interrupted call resumes when repeated.

Large text: `--shards N` makes OUT/shard0 and so on, data folders that share vocabulary and
aligner. Each is a step; several run at the same time with --jobs or on a cluster. Validation and
test sets are in shard0.

Splits are named as in fairseq: train, valid and test; valid1, test1 and so on are further sets.
`fairseq-generate --gen-subset test1` translates one of them; `fairseq-train --valid-subset
valid,valid1` validates on both and chooses checkpoint_best.pt by the first alone.
"""

import argparse
import dataclasses
import functools
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import Input, Listed, OutputFolder
from fairseq_xling.core.options import REQUIRED, add_fields, argument, option, part_of, values_of
from fairseq_xling.core.ranges import COUNT, FIRST_WORD, NOT_NEGATIVE, POSITIVE, SHARE, Range

if TYPE_CHECKING:
    from fairseq_xling.text.options import PrepareOptions
    from fairseq_xling.text.sources import Sources
    from fairseq_xling.workflow.launcher import Launch
    from fairseq_xling.workflow.step import Step

GROUP = "Data"
# What a step's command says in another place, or what does not change the folders.
_LEFT_OUT = {
    **dict.fromkeys(("--workers", "--jobs", "--only-step"), True),
    **dict.fromkeys(("--launcher", "--launcher-args", "--launcher-config"), True),
    **dict.fromkeys(("--overwrite", "--dry-run"), False),
}
# Options that only steps have, with their defaults.
_ONLY_WITH_SHARDS = {
    "part": None,
    "dry_run": False,
    "only_step": None,
    "launcher": "local",
    "launcher_args": "",
    "launcher_config": None,
    "jobs": 1,
    "align_sample": 64.0,
}


_of_text = functools.partial(option, group="text (repeat an option for more files)")
_of_vocabulary = functools.partial(option, group="vocabulary")
_of_alignment = functools.partial(option, group="word alignment of parallel text")


@dataclasses.dataclass(frozen=True)
class FolderOptions:
    """What a folder is made of; the options of `PrepareOptions` are those of its names."""

    out: str = argument("data folder to write", OutputFolder("OUT"))
    languages: str = _of_text(REQUIRED, "languages, separated by commas", metavar="CODES")
    folder: str | None = _of_text(
        None,
        "folder in the layout of `fairseq-xling synthesize`: reads its mono/SPLIT.LANG.txt, "
        "parallel/SPLIT.A-B.LANG.txt with SPLIT.A-B.pharaoh, and dictionary/A-B.tsv",
        metavar=Listed("DIR"),
        flag="from",
    )
    mono: tuple[str, ...] = _of_text(
        (),
        "monolingual text; SPLIT is train, valid or test, and valid1, test1 and so on are "
        "further sets; blank lines are left out; a FILE may be a column of a table, as in "
        "FILE.parquet:text, FILE.arrow:text, FILE.jsonl:text or, between tabs, FILE.tsv:3",
        metavar=Input("SPLIT.LANG=FILE[,FILE...]"),
    )
    parallel: tuple[str, ...] = _of_text(
        (),
        "parallel text, line n of one file translating line n of the other; pairs with an "
        "empty side are left out",
        metavar=Input("SPLIT.A-B=FILE_A,FILE_B"),
    )
    alignment: tuple[str, ...] = _of_text(
        (),
        "existing word alignment of that parallel text, lines of Pharaoh links i-j counted "
        "from 0 (or see --links-from) over the words after --segment (or see --align-unit); "
        "without it, --aligner makes one",
        metavar=Input("SPLIT.A-B=FILE"),
    )
    held_out: int = _of_text(
        0,
        "sentences of each training text that are held out for valid, and as many for test, by "
        "their hashes: equal sentences are never on two sides; a language with parallel text alone "
        "has its sides as monolingual text, too",
        range=NOT_NEGATIVE,
        metavar="N",
    )
    dictionary: tuple[str, ...] = _of_text(
        (),
        "word pairs for extra anchors, source TAB target [TAB weight] a line, used in both "
        "directions",
        metavar=Input("A-B=FILE"),
    )
    vocab: str = _of_vocabulary(
        "joint",
        "joint (learnt on all languages together), union (one per language, equal pieces "
        "share an id), prefixed (as union, nothing shared) or separate (a dictionary per language)",
        metavar="MODE",
    )
    vocab_size: int = _of_vocabulary(
        8000, "pieces to learn: in total for joint, otherwise per language", range=COUNT
    )
    vocab_type: str = _of_vocabulary(
        "bpe",
        "bpe, unigram, wordpiece (as BERT, cased; needs the library tokenizers), or word (the "
        "most frequent whole words)",
        metavar="TYPE",
    )
    alphabet: int | None = _of_vocabulary(
        None,
        "maximum number of distinct characters in a model's pieces; rarer ones become <unk> "
        "(default: half of --vocab-size, more where that leaves over 0.05 % of the text unknown)",
        least=2,
    )
    vocab_alpha: float = _of_vocabulary(
        0.7,
        "languages that share a model are sampled in proportion to (their fraction of all "
        "sentences) ^ A; 1 is proportional, 0 is uniform",
        range=SHARE,
        metavar="A",
    )
    vocab_sample: float = _of_vocabulary(
        8.0, "megabytes of training text used to learn each model", range=POSITIVE, metavar="MB"
    )
    segment: tuple[str, ...] = _of_vocabulary(
        (),
        "word segmentation before pieces are learnt: pre (as in the file; every language's "
        "default), space (punctuation set off), char (as space, and each Chinese or Japanese "
        "character on its own; --vocab-size should then be twice the number of characters), "
        "basic (as BERT) or moses-LANG (as Moses; needs fairseq_xling[moses])",
        metavar="LANG=HOW",
    )
    tokenizer: tuple[str, ...] = _of_vocabulary(
        (),
        "use the vocabulary and the tokenizer.json of a Hugging Face folder, or those of a "
        "data folder with the same --vocab and --vocab-type, instead of learning one; with --vocab "
        "joint, name every language with the same folder. "
        "`--segment LANG=basic` counts words as BERT's tokenizers do",
        metavar=Input("LANG=FOLDER"),
    )
    aligner: str = _of_alignment(
        "fast_align",
        "fast_align (built in), fast_align_binary or eflomal (programs on PATH), or none",
        metavar="NAME",
    )
    symmetrise: str = _of_alignment(
        "none",
        "none (each direction has its own links), intersection, union or gdfa "
        "(grow-diag-final-and)",
        metavar="RULE",
    )
    many_to_one: str = _of_alignment(
        "lowest",
        "what a target word with several links gets its state from: lowest (source index), "
        "highest (probability; of links i-j:p, or of --aligner fast_align), last (in the line), "
        "mean (of their states)",
        metavar="RULE",
    )
    align_unit: str | None = _of_alignment(
        None,
        "what links connect, subword or word (default: subword for the aligner, word for "
        "--alignment files); a word's k-th subword takes the min(k, n)-th of the n of its partner",
        metavar="UNIT",
    )
    links_from: int = _of_alignment(
        0, "number of the first word in --alignment files, 0 or 1", range=FIRST_WORD
    )


@dataclasses.dataclass(frozen=True)
class ShardOptions:
    """What more there is for shards, besides the choice of a launcher."""

    shards: int | None = option(
        None,
        "cut the training text into N data folders, OUT/shard0 and so on (default: OUT alone)",
        range=Range(1, 5000),  # each is a step or two, of which a plan has a bound
    )
    align_sample: float = option(
        64.0,
        "with --shards: megabytes of each pair's training text that the aligner learns from",
        range=POSITIVE,
        metavar="MB",
    )
    part: str | None = option(
        None,
        "with --shards: make models, shard0 or so alone, here, as each step does",
        metavar="PART",
    )
    jobs: int = option(1, "with --shards: steps at the same time on this machine", range=COUNT)


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How it is made."""

    workers: int = option(2, "threads; the result is the same", range=COUNT)
    seed: int = shared.seed(1, "random seed of the vocabulary's sample")
    overwrite: bool = option(
        False, "replace a data folder that was made with other settings or text"
    )


@dataclasses.dataclass(frozen=True)
class Options(RunOptions, ShardOptions, FolderOptions):
    """All of them, without the choice of a launcher."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.workflow.launcher import add_launch_options

    add_fields(parser, FolderOptions)
    shards = parser.add_argument_group("shards")
    add_fields(shards, ShardOptions)
    add_launch_options(shards)
    add_fields(parser.add_argument_group("run"), RunOptions)


def reads(args: argparse.Namespace) -> Iterator[Path]:
    """The files that it reads of the folder `--from`.

    Raises:
        UserError: if a language has no text to train on, there or in another option.
    """
    from fairseq_xling.core.languages import parse_languages
    from fairseq_xling.text.sources import find_sources

    languages, given = parse_languages(args.languages), (*args.mono, *args.parallel)
    found = find_sources(args.folder, languages)
    for lang in languages:
        if not (found.text_of(lang) or given):
            text = f"mono/train.{lang}.txt"
            raise UserError(f"{args.folder}: has no training text of {lang!r}, {text}")
    return itertools.chain.from_iterable(found.by_role().values())


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.core.languages import parse_languages
    from fairseq_xling.data.folder import WITHOUT_VALID
    from fairseq_xling.text.options import PrepareOptions, parse_segmentation
    from fairseq_xling.text.prepare import prepare, summary, swapped_sides
    from fairseq_xling.text.sources import parse_sources
    from fairseq_xling.text.vocabularies import modes
    from fairseq_xling.workflow.launcher import launch_of

    given = values_of(Options, args)
    languages = parse_languages(given.languages)
    segment = parse_segmentation(given.segment, languages)
    options = part_of(PrepareOptions, given, languages=tuple(languages), segment=segment)
    sources = parse_sources(
        languages,
        given.mono,
        given.parallel,
        given.alignment,
        given.dictionary,
        given.folder,
        shared_ids=modes[options.vocab]().shares_ids(languages),
        tokenizer=given.tokenizer,
    )
    if given.shards:
        if given.held_out:
            raise UserError("`--held-out` cannot be used with `--shards`; name text for valid")
        if given.part:
            return _make_part(given, sources, options)
        return _make_shards(given, sources, options, launch_of(args), args.argv)
    for name, default in _ONLY_WITH_SHARDS.items():
        if getattr(args, name) != default:
            raise UserError(f"`--{name.replace('_', '-')}` needs `--shards`")
    meta = prepare(given.out, sources, options, given.workers, given.overwrite)
    print(summary(given.out, meta))
    for line in swapped_sides(sources):
        print(f"fairseq-xling: warning: {line}", file=sys.stderr)
    if not any(split.startswith("valid") for split in (*meta["mono"], *meta["parallel"])):
        line = f"{given.out}: has no text to validate on; {WITHOUT_VALID}"
        print(f"fairseq-xling: warning: {line}", file=sys.stderr)


def _make_part(given: Options, sources: "Sources", options: "PrepareOptions") -> None:
    """Make one part of shards, here."""
    from fairseq_xling.core.registry import unknown_name
    from fairseq_xling.text import state
    from fairseq_xling.text.shards import MODELS, part_names, prepare_models, prepare_shard

    part, names = str(given.part), part_names(given.shards)
    state.check_folder(Path(given.out))
    if part not in names:
        raise UserError(f"`--part`: {unknown_name('part', part, names)}")
    out, how = Path(given.out) / part, {"workers": given.workers, "overwrite": given.overwrite}
    if part == MODELS:
        prepare_models(out, sources, options, given.shards, given.align_sample, **how)
    else:
        number = int(part.removeprefix("shard"))
        prepare_shard(out, Path(given.out) / MODELS, sources, options, number, **how)
    print(f"{out}: done")


def _make_shards(
    given: Options,
    sources: "Sources",
    options: "PrepareOptions",
    launch: "Launch",
    argv: Sequence[str],
) -> None:
    """Make all parts of shards, as steps."""
    from fairseq_xling.text import state
    from fairseq_xling.text.inputs import surfaces
    from fairseq_xling.text.shards import check_shards
    from fairseq_xling.workflow.launcher import run_steps

    out = Path(given.out)
    state.check_folder(out)
    check_shards(sources, options, given.shards)
    settings = {**options.to_json(), "shards": given.shards, "align_sample": given.align_sample}
    inputs = surfaces(sources)
    if (out / "meta.json").is_file():
        raise UserError(f"{out}: is a data folder without shards; choose another folder")
    if not (given.overwrite or launch.only_step):
        state.is_finished(out, settings, inputs)
    if not (launch.dry_run or launch.only_step):
        state.start(out, settings, inputs, None)
    steps = _steps(given, sources, argv)
    if run_steps(out, steps, given.jobs, launch, shown=""):
        print(f"{out}: {given.shards} shards, shard0 to shard{given.shards - 1}")


def _steps(given: Options, sources: "Sources", argv: Sequence[str]) -> list["Step"]:
    from fairseq_xling.core.files import on_disk
    from fairseq_xling.text.shards import MODELS, part_names
    from fairseq_xling.workflow.step import Step, last_line

    command = ["fairseq-xling", *without_options(argv, _LEFT_OUT)]
    texts = [on_disk(file) for files in sources.by_role().values() for file in files]
    make = functools.partial(
        Step,
        # The result does not depend on them, so nothing is made again with another number.
        late=lambda: ("--workers", str(given.workers)),
        unread=texts,
        resumable=True,
        progress=last_line,
    )
    models = Path(given.out) / MODELS
    return [
        make(
            name,
            commands=[[*command, "--part", name]],
            inputs=[] if name == MODELS else [models],
            outputs=[Path(given.out) / name],
        )
        for name in part_names(given.shards)
    ]


def without_options(words: Sequence[str], left_out: dict[str, bool]) -> Iterator[str]:
    """``words`` without the options of ``left_out``, which says whether each has a value.

    >>> words = ["prepare", "--jobs", "2", "--seed=1", "--workers=3", "--overwrite"]
    >>> list(without_options(words, {"--jobs": True, "--workers": True, "--overwrite": False}))
    ['prepare', '--seed=1']
    """
    given = iter(words)
    for word in given:
        name, equals, _ = word.partition("=")
        if name not in left_out:
            yield word
        elif left_out[name] and not equals:
            next(given)
