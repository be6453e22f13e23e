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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.errors import UserError
from fairseq_xling.named_files import Input, OutputFolder
from fairseq_xling.ranges import COUNT, FIRST_WORD, POSITIVE, SHARE, Number, Range
from fairseq_xling.seeds import SEED

if TYPE_CHECKING:
    from fairseq_xling.runs.step import Step
    from fairseq_xling.text.options import PrepareOptions
    from fairseq_xling.text.sources import Sources

GROUP = "Data"
SPEC_ROWS = ("D3", "D4", "D6", "D8", "G10")
# What a step's command says in another place, or what does not change the folders.
_LEFT_OUT = {"--workers": True, "--jobs": True, "--overwrite": False, "--dry-run": False}
# Options that only steps have, with their defaults.
_ONLY_WITH_SHARDS = {
    "part": None,
    "dry_run": False,
    "only_step": None,
    "export": None,
    "launcher": "local",
    "launcher_args": "",
    "launcher_config": None,
    "jobs": 1,
    "align_sample": 64.0,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.runs.launcher import add_launch_options

    parser.add_argument("out", metavar=OutputFolder("OUT"), help="data folder to write")
    files = parser.add_argument_group("text (repeat an option for more files)")
    files.add_argument(
        "--languages", required=True, metavar="CODES", help="languages, separated by commas"
    )
    files.add_argument(
        "--from",
        dest="folder",
        metavar=Input("DIR"),
        help="folder in the layout of `fairseq-xling synthesize`: reads its mono/SPLIT.LANG.txt, "
        "parallel/SPLIT.A-B.LANG.txt with SPLIT.A-B.pharaoh, and dictionary/A-B.tsv",
    )
    files.add_argument(
        "--mono",
        action="append",
        default=[],
        metavar=Input("SPLIT.LANG=FILE[,FILE...]"),
        help="monolingual text; SPLIT is train, valid or test, and valid1, test1 and so on are "
        "further sets; blank lines are left out; a FILE may be a column of a table, as in "
        "FILE.parquet:text, FILE.arrow:text, FILE.jsonl:text or, between tabs, FILE.tsv:3",
    )
    files.add_argument(
        "--parallel",
        action="append",
        default=[],
        metavar=Input("SPLIT.A-B=FILE_A,FILE_B"),
        help="parallel text, line n of one file translating line n of the other; pairs with an "
        "empty side are left out",
    )
    files.add_argument(
        "--alignment",
        action="append",
        default=[],
        metavar=Input("SPLIT.A-B=FILE"),
        help="existing word alignment of that parallel text, lines of Pharaoh links i-j counted "
        "from 0 (or see --links-from) over the words after --segment (or see --align-unit); "
        "without it, --aligner makes one",
    )
    files.add_argument(
        "--dictionary",
        action="append",
        default=[],
        metavar=Input("A-B=FILE"),
        help="word pairs for extra anchors, source TAB target [TAB weight] a line, used in both "
        "directions",
    )
    vocabulary = parser.add_argument_group("vocabulary")
    vocabulary.add_argument(
        "--vocab",
        default="joint",
        metavar="MODE",
        help="joint (learnt on all languages together), union (one per language, equal pieces "
        "share an id), prefixed (as union, nothing shared) or separate (a dictionary per language)",
    )
    vocabulary.add_argument(
        "--vocab-size",
        type=Number(int, COUNT),
        default=8000,
        metavar="N",
        help="pieces to learn: in total for joint, otherwise per language",
    )
    vocabulary.add_argument(
        "--vocab-type",
        default="bpe",
        metavar="TYPE",
        help="bpe, unigram, wordpiece (as BERT, cased; needs the library tokenizers), or word (the "
        "most frequent whole words)",
    )
    vocabulary.add_argument(
        "--alphabet",
        type=Number(int, Range(2)),
        metavar="N",
        help="maximum number of distinct characters in a model's pieces; rarer ones become <unk> "
        "(default: half of --vocab-size, more where that leaves over 0.05 %% of the text unknown)",
    )
    vocabulary.add_argument(
        "--vocab-alpha",
        type=Number(float, SHARE),
        default=0.7,
        metavar="A",
        help="languages that share a model are sampled in proportion to (their fraction of all "
        "sentences) ^ A; 1 is proportional, 0 is uniform",
    )
    vocabulary.add_argument(
        "--vocab-sample",
        type=Number(float, POSITIVE),
        default=8.0,
        metavar="MB",
        help="megabytes of training text used to learn each model",
    )
    vocabulary.add_argument(
        "--segment",
        action="append",
        default=[],
        metavar="LANG=HOW",
        help="word segmentation before pieces are learnt: pre (as in the file; every language's "
        "default), space (punctuation set off), char (as space, and each Chinese or Japanese "
        "character on its own; --vocab-size should then be twice the number of characters), "
        "basic (as BERT) or moses-LANG (as Moses; needs fairseq_xling[moses])",
    )
    vocabulary.add_argument(
        "--tokenizer",
        action="append",
        default=[],
        metavar=Input("LANG=FOLDER"),
        help="use the vocabulary and the tokenizer.json of a Hugging Face folder, or those of a "
        "data folder with the same --vocab and --vocab-type, instead of learning one; with --vocab "
        "joint, name every language with the same folder. "
        "`--segment LANG=basic` counts words as BERT's tokenizers do",
    )
    alignment = parser.add_argument_group("word alignment of parallel text")
    alignment.add_argument(
        "--aligner",
        default="fast_align",
        metavar="NAME",
        help="fast_align (built in), fast_align_binary or eflomal (programs on PATH), or none",
    )
    alignment.add_argument(
        "--symmetrise",
        default="none",
        metavar="RULE",
        help="none (each direction has its own links), intersection, union or gdfa "
        "(grow-diag-final-and)",
    )
    alignment.add_argument(
        "--many-to-one",
        default="lowest",
        metavar="RULE",
        help="what a target word with several links gets its state from: lowest (source index), "
        "highest (probability; of links i-j:p, or of --aligner fast_align), last (in the line), "
        "mean (of their states)",
    )
    alignment.add_argument(
        "--align-unit",
        metavar="UNIT",
        help="what links connect, subword or word (default: subword for the aligner, word for "
        "--alignment files); a word's k-th subword takes the min(k, n)-th of the n of its partner",
    )
    alignment.add_argument(
        "--links-from",
        type=Number(int, FIRST_WORD),
        default=0,
        metavar="N",
        help="number of the first word in --alignment files, 0 or 1",
    )
    shards = parser.add_argument_group("shards")
    shards.add_argument(
        "--shards",
        type=Number(int, COUNT),
        metavar="N",
        help="cut the training text into N data folders, OUT/shard0 and so on (default: OUT alone)",
    )
    shards.add_argument(
        "--align-sample",
        type=Number(float, POSITIVE),
        default=64.0,
        metavar="MB",
        help="with --shards: megabytes of each pair's training text that the aligner learns from",
    )
    shards.add_argument(
        "--part",
        metavar="PART",
        help="with --shards: make models, shard0 or so alone, here, as each step does",
    )
    shards.add_argument(
        "--jobs",
        type=Number(int, COUNT),
        default=1,
        metavar="N",
        help="with --shards: steps at the same time on this machine",
    )
    add_launch_options(shards)
    run = parser.add_argument_group("run")
    run.add_argument(
        "--workers",
        type=Number(int, COUNT),
        default=2,
        metavar="N",
        help="threads; the result is the same",
    )
    run.add_argument(
        "--seed", type=SEED, default=1, metavar="N", help="random seed of the vocabulary's sample"
    )
    run.add_argument(
        "--overwrite",
        action="store_true",
        help="replace a data folder that was made with other settings or text",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.languages import parse_languages
    from fairseq_xling.text.options import PrepareOptions, parse_segmentation
    from fairseq_xling.text.prepare import prepare, summary
    from fairseq_xling.text.sources import parse_sources
    from fairseq_xling.text.vocabularies import modes

    languages = parse_languages(args.languages)
    given = {field.name: getattr(args, field.name) for field in dataclasses.fields(PrepareOptions)}
    given["languages"] = tuple(languages)
    given["segment"] = parse_segmentation(args.segment, languages)
    options = PrepareOptions(**given)
    sources = parse_sources(
        languages,
        args.mono,
        args.parallel,
        args.alignment,
        args.dictionary,
        args.folder,
        shared_ids=modes[options.vocab]().shares_ids(languages),
        tokenizer=args.tokenizer,
    )
    if args.shards:
        return _prepare_shards(args, sources, options)
    _refuse_without_shards(args)
    meta = prepare(args.out, sources, options, args.workers, args.overwrite)
    print(summary(args.out, meta))


def _refuse_without_shards(args: argparse.Namespace) -> None:
    """Refuse options that only steps have."""
    for name, default in _ONLY_WITH_SHARDS.items():
        if getattr(args, name) != default:
            raise UserError(f"`--{name.replace('_', '-')}` needs `--shards`")


def _prepare_shards(
    args: argparse.Namespace, sources: "Sources", options: "PrepareOptions"
) -> None:
    """Make all parts, as steps; or one of them, here (``args.part``)."""
    from fairseq_xling.registry import unknown_name
    from fairseq_xling.runs.launcher import launcher_of, run_steps
    from fairseq_xling.text import state
    from fairseq_xling.text.inputs import surfaces
    from fairseq_xling.text.shards import check_shards, part_names

    out, names = Path(args.out), part_names(args.shards)
    state.check_folder(out)
    if args.part:
        if args.part not in names:
            raise UserError(f"`--part`: {unknown_name('part', args.part, names)}")
        _make_part(args, sources, options)
        return
    check_shards(sources, options, args.shards)
    settings = {**options.to_json(), "shards": args.shards, "align_sample": args.align_sample}
    inputs = surfaces(sources)
    if (out / "meta.json").is_file():
        raise UserError(f"{out}: is a data folder without shards; choose another folder")
    if not (args.overwrite or args.only_step):
        state.is_finished(out, settings, inputs)
    steps = _steps(args, sources)
    if not (args.dry_run or args.only_step):
        launcher_of(args)  # raises for wrong options, before anything is written
        state.start(out, settings, inputs, None)
    if run_steps(out, steps, args.jobs, args, shown=""):
        print(f"{out}: {args.shards} shards, shard0 to shard{args.shards - 1}")


def _make_part(args: argparse.Namespace, sources: "Sources", options: "PrepareOptions") -> None:
    from fairseq_xling.text.shards import MODELS, prepare_models, prepare_shard

    models, out = Path(args.out) / MODELS, Path(args.out) / args.part
    how = {"workers": args.workers, "overwrite": args.overwrite}
    if args.part == MODELS:
        prepare_models(out, sources, options, args.shards, args.align_sample, **how)
    else:
        number = int(args.part.removeprefix("shard"))
        prepare_shard(out, models, sources, options, number, **how)
    print(f"{out}: done")


def _steps(args: argparse.Namespace, sources: "Sources") -> list["Step"]:
    from fairseq_xling.columns import on_disk
    from fairseq_xling.runs.launcher import planning_command
    from fairseq_xling.runs.step import Step, last_line
    from fairseq_xling.text.shards import MODELS, part_names

    command = list(without_options(planning_command(args.argv), _LEFT_OUT))
    texts = [on_disk(file) for files in sources.by_role().values() for file in files]
    make = functools.partial(
        Step,
        # The result does not depend on them, so nothing is made again with another number.
        late=lambda: ("--workers", str(args.workers)),
        unread=texts,
        resumable=True,
        progress=last_line,
    )
    models = Path(args.out) / MODELS
    return [
        make(
            name,
            commands=[[*command, "--part", name]],
            inputs=[] if name == MODELS else [models],
            outputs=[Path(args.out) / name],
        )
        for name in part_names(args.shards)
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
