"""`fairseq-xling prepare`: plain text in, data folder out.

Every stage leaves files that are either absent or complete, so a run that was killed resumes where
it stopped and produces the same bytes. ``meta.json`` is written last and marks the rest as
complete.
"""

import functools
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any
from unicodedata import category

import fairseq_xling
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, sha256, write_json
from fairseq_xling.core.progress import progress
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.folder import SPECIALS, read_dictionary
from fairseq_xling.data.meta import FORMAT, describe_files, in_order, split_order
from fairseq_xling.text import state
from fairseq_xling.text.aligners import Aligner, aligners
from fairseq_xling.text.alignment import PairAligner
from fairseq_xling.text.anchors import collect_anchors, read_entries, write_anchors
from fairseq_xling.text.binarize import PairEncoder, binarize_mono, binarize_parallel
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.text.held_out import described, hold_out
from fairseq_xling.text.inputs import Inputs, check_inputs, facts_to_json, fingerprint
from fairseq_xling.text.link_rules import many_to_one, symmetrizations
from fairseq_xling.text.options import PrepareOptions
from fairseq_xling.text.sources import Pair, Sources
from fairseq_xling.text.thot_worker import ITERATIONS
from fairseq_xling.text.vocabularies import modes
from fairseq_xling.text.vocabulary import learn_vocabulary
from fairseq_xling.text.vocabulary_types import vocabulary_types

_MARKED = 0.1  # share of the words of tokenised text that abbreviations stay far below
_LOOKED_AT = 2000  # lines of a text whose words are compared with those of another
_SAME = 0.2  # share of a text's words that other text of its language has at least


def prepare(
    out: str | Path,
    sources: Sources,
    options: PrepareOptions,
    workers: int = 2,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Make, or finish, the data folder ``out`` and return its ``meta.json``.

    Neither ``workers`` nor the number of interruptions changes a byte of the result.
    """
    out = Path(out)
    if workers < 1:
        raise UserError(f"`--workers` must be at least 1, got {workers}")
    state.check_folder(out)
    check_settings(sources, options)
    settings, inputs = options.to_json(), fingerprint(sources)
    if not overwrite and state.is_finished(out, settings, inputs):
        shutil.rmtree(out / state.WORK, ignore_errors=True)
        return read_json(out / "meta.json")
    known = None if overwrite else state.known_facts(out)
    checked = check_inputs(sources, options, known)
    with state.writing(out, settings, inputs, facts_to_json(checked), overwrite):
        held = None
        if options.held_out:
            with _clean_after_bad_input(out):
                sources, checked, held = hold_out(out, sources, checked, options.held_out)
        maker = FolderMaker(out, sources, checked, options, workers)
        maker.held_out = held
        write_folder(out, maker, settings, inputs)
    return read_json(out / "meta.json")


def write_folder(
    out: Path, maker: "FolderMaker", settings: dict[str, Any], inputs: dict[str, Any]
) -> None:
    """Make everything in ``out``, which is locked and begun, and ``meta.json`` last."""
    meta = maker.make()
    meta["files"] = describe_files(out, state.written(out))
    write_json(out / "meta.json", {**meta, "settings": settings, "inputs": inputs})


def check_settings(sources: Sources, options: PrepareOptions) -> None:
    """Check what needs no file to be read."""
    if options.held_out:
        for split, name in (*sources.mono, *sources.parallel):
            if split != "train":
                of = name if isinstance(name, str) else "-".join(name)
                raise UserError(
                    f"`--held-out` makes valid and test of the training text, got {split}.{of}, "
                    "too; name training text alone"
                )
    if sources.dictionaries and not modes[options.vocab]().shares_ids(options.languages):
        raise UserError(
            f"`--dictionary` needs a vocabulary that the languages share, got `--vocab "
            f"{options.vocab}`"
        )
    for languages in modes[options.vocab]().groups(options.languages).values():
        theirs = {sources.tokenizers.get(lang) for lang in languages}
        if len(theirs) > 1:
            raise UserError(
                f"`--tokenizer` must be one and the same for {', '.join(languages)}, which share "
                f"their pieces under `--vocab {options.vocab}`; else choose union or separate"
            )
    if to_align(sources):
        aligner = aligners[options.aligner]()
        needs = many_to_one[options.many_to_one].needs_probability
        if aligner.aligns and needs and not aligner.gives_probabilities:
            raise UserError(
                f"`--many-to-one {options.many_to_one}` needs an aligner that gives probabilities, "
                f"such as fast_align, got `--aligner {options.aligner}`"
            )
        aligner.check()


def to_align(sources: Sources) -> list[Pair]:
    """Pairs with text that no ready alignment covers."""
    missing = [key for key in sources.parallel if key not in sources.alignments]
    return list(dict.fromkeys(pair for _, pair in missing))


class FolderMaker:
    """One run over all stages.

    Attributes:
        learns_from: the text that the vocabulary is learnt on.
        held_out: what was held out of the training text, if anything.
    """

    held_out: dict[str, Any] | None = None

    def __init__(
        self, out: Path, sources: Sources, inputs: Inputs, options: PrepareOptions, workers: int
    ):
        self.out, self.work = out, out / state.WORK
        self.sources, self.inputs, self.options = sources, inputs, options
        self.workers, self.learns_from = workers, sources

    def make(self) -> dict[str, Any]:
        """Everything but ``meta.json``, whose content is returned."""
        options = self.options
        with _clean_after_bad_input(self.out):
            shares = self.vocabulary()
        whole_words = vocabulary_types[options.vocab_type].whole_words
        self.encoders = {
            lang: TextEncoder(self.out, lang, options.vocab, options.segment[lang], whole_words)
            for lang in options.languages
        }
        mono, parallel = self._mono(), self._parallel()
        with _clean_after_bad_input(self.out):
            self._refuse_blank(mono, parallel)
        self._align(parallel)
        entries, anchors = collect_anchors(self.inputs.dictionaries, self.encoders)
        for lang, pairs in entries.items():
            write_anchors(self.out / f"anchors.{lang}.json", pairs)
        mode = modes[options.vocab]()
        names = {lang: mode.dictionary_name(lang) for lang in options.languages}
        sizes = {name: self.encoders[lang].vocab_size for lang, name in names.items()}
        return {
            **({"held_out": self.held_out} if self.held_out else {}),
            "format": FORMAT,
            "languages": list(options.languages),
            "vocab": {
                "mode": options.vocab,
                "type": options.vocab_type,
                "size": options.vocab_size,
                "sizes": {"dict": sizes["dict.txt"]}
                if "dict.txt" in sizes
                else {lang: sizes[name] for lang, name in names.items()},
                "sample_shares": shares,
            },
            "mono": mono,
            "parallel": parallel,
            "anchors": anchors,
            "segment": options.segment,
            "dictionaries": {name: sha256(self.out / name) for name in sizes},
            "versions": {
                "fairseq_xling": fairseq_xling.__version__,
                "sentencepiece": version("sentencepiece"),
                "sil-thot": version("sil-thot"),
            },
        }

    def _refuse_blank(self, mono: dict[str, Any], parallel: dict[str, Any]) -> None:
        for kind, splits, unit in (("mono", mono, "sentences"), ("parallel", parallel, "pairs")):
            for split, texts in splits.items():
                for name, counts in texts.items():
                    if not counts.get(unit):
                        raise UserError(self.blank(f"{kind}/{split}.{name}"))

    def blank(self, name: str) -> str:
        """What to say of text that has nothing but blank lines, or pairs with a blank side."""
        files = " and ".join(map(str, self.sources.by_role()[name]))
        sides = " on both sides" if name.startswith("parallel") else ""
        return f"{files}: no line has text{sides}"

    def vocabulary(self) -> dict[str, dict[str, float]]:
        """Write dictionaries and models of pieces; returns as `learn_vocabulary`."""
        return learn_vocabulary(self.out, self.work, self.learns_from, self.inputs, self.options)

    def links(self, job: PairAligner, aligner: Aligner, key: str) -> tuple[Path, Path] | None:
        """Files of the links of a pair in both directions; None if it is not to have any."""
        with progress(2 * ITERATIONS, f"aligning {key}", unit="iteration") as bar:
            return job.links(aligner, self.workers, lambda text: bar.update(1))

    def _mono(self) -> dict[str, dict[str, Any]]:
        result: dict[str, dict[str, Any]] = {}
        for (split, lang), files in _in_order(self.sources.mono):
            name, total = f"mono/{split}.{lang}", self._bytes(files)
            with progress(total, name) as bar:
                result.setdefault(split, {})[lang] = binarize_mono(
                    files, self.encoders[lang], self.out, name, self.workers, bar.update
                )
        return result

    def _parallel(self) -> dict[str, dict[str, Any]]:
        result: dict[str, dict[str, Any]] = {}
        options = self.options
        for (split, pair), files in _in_order(self.sources.parallel):
            key = "-".join(pair)
            name, total = f"parallel/{split}.{key}", self._bytes(files)
            encoder = PairEncoder(
                pair,
                (self.encoders[pair[0]], self.encoders[pair[1]]),
                self.sources.alignments.get((split, pair)),
                options.file_unit,
                many_to_one[options.many_to_one],
                options.links_from,
                keep_text=split != "train",
            )
            # A link beyond the subwords of its sentence is detected only once these are known.
            with _clean_after_bad_input(self.out), progress(total, name) as bar:
                counts = binarize_parallel(files, encoder, self.out, name, self.workers, bar.update)
            result.setdefault(split, {})[key] = {
                "pairs": counts.get("pairs", 0),
                "dropped": counts.get("dropped", 0),
                "tokens": {lang: counts.get(f"tokens {lang}", 0) for lang in pair},
                "unknown": {lang: counts.get(f"unknown {lang}", 0) for lang in pair},
                "orders": [key, "-".join(pair[::-1])] if encoder.alignment else [],
            }
        return result

    def _bytes(self, files: Sequence[Path]) -> int:
        return sum(self.inputs.facts[file].bytes for file in files)

    def _align(self, parallel: dict[str, dict[str, Any]]) -> None:
        aligner = aligners[self.options.aligner]()
        if not aligner.aligns:
            return
        for pair in to_align(self.sources):
            key = "-".join(pair)
            splits = in_order(split for split, of in self.sources.parallel if of == pair)
            stems = {split: self.out / "parallel" / f"{split}.{key}" for split in splits}
            ready = [stems[x] for x in splits if (x, pair) in self.sources.alignments]
            encoders = (self.encoders[pair[0]], self.encoders[pair[1]])
            work = self.work / f"align.{key}"
            unit, several = self.options.aligner_unit, many_to_one[self.options.many_to_one]
            job = PairAligner(pair, list(stems.values()), encoders, work, unit, several)
            links = self.links(job, aligner, key)
            if links is None:
                continue
            total = sum(parallel[split][key]["pairs"] for split in splits)
            rule = symmetrizations[self.options.symmetrise]
            with progress(total, f"orders {key}", unit="pair") as bar:
                job.write_orders(links, rule, ready, bar.update)
            for split in splits:
                parallel[split][key]["orders"] = [key, "-".join(pair[::-1])]


@contextmanager
def _clean_after_bad_input(out: Path) -> Iterator[None]:
    """Remove a folder that the same call could never finish."""
    try:
        yield
    except UserError:
        state.clear(out)
        raise


def _in_order(table: dict[tuple[str, Any], Any]) -> list[tuple[tuple[str, Any], Any]]:
    return sorted(table.items(), key=lambda item: (split_order(item[0][0]), item[0][1]))


def summary(out: str | Path, meta: dict[str, Any]) -> str:
    """Sizes, shares of the vocabulary's sample, and unknown tokens of every file."""
    vocab = meta["vocab"]
    sizes = ", ".join(f"{name} {size:,}" for name, size in vocab["sizes"].items())
    rows = [f"{out}: {vocab['mode']} vocabulary of {vocab['type']} pieces (ids: {sizes})"]
    for name, shares in vocab["sample_shares"].items():
        if len(shares) > 1:
            text = ", ".join(f"{lang} {share:.3f}" for lang, share in shares.items())
            rows.append(f"  {name}: learnt on {text}")
    if held := meta.get("held_out"):
        rows.append(f"  {described(held, meta['settings']['held_out'])}")
    for split, languages in meta["mono"].items():
        for lang, counts in languages.items():
            rows.append(
                f"  mono/{split}.{lang}: {counts['sentences']:,} sentences, "
                f"{counts['tokens']:,} tokens{_unknown(counts['unknown'], counts['tokens'])}"
            )
    for split, pairs in meta["parallel"].items():
        for pair, counts in pairs.items():
            tokens, unknown = sum(counts["tokens"].values()), sum(counts["unknown"].values())
            dropped = f", {counts['dropped']:,} with an empty side left out"
            dropped = dropped if counts["dropped"] else ""
            aligned = ", aligned both ways" if counts["orders"] else ", not aligned"
            rows.append(
                f"  parallel/{split}.{pair}: {counts['pairs']:,} pairs, {tokens:,} tokens"
                f"{_unknown(unknown, tokens)}{dropped}{aligned}"
            )
    if any(meta["anchors"].values()):
        used, skipped = meta["anchors"]["used"], meta["anchors"]["skipped"]
        rows.append(f"  anchors: {used:,} word pairs, {skipped:,} left out (unknown, or a phrase)")
    return "\n".join([*rows, *_one_sided(meta), *_untokenised(Path(out), meta)])


def _one_sided(meta: dict[str, Any]) -> Iterator[str]:
    """Sides of parallel text that a masked language model does not read, since there is other
    monolingual text."""
    digests = {role: [file["sha256"] for file in files] for role, files in meta["inputs"].items()}
    found = []
    for pair, counts in meta["parallel"].get("train", {}).items():
        sides = digests.get(f"parallel/train.{pair}", ())
        for lang, side in zip(pair.split("-"), sides, strict=False):
            read = digests.get(f"mono/train.{lang}")
            if read and side not in read:
                found.append(f"{lang} of parallel/train.{pair} ({counts['pairs']:,} sentences)")
    if found:
        yield (
            f"  note: not in monolingual text, so that only objectives of pairs read it: "
            f"{', '.join(found)}; `--mono train.LANG=FILE,SIDE` reads it as well"
        )


def _untokenised(out: Path, meta: dict[str, Any]) -> Iterator[str]:
    """A vocabulary of whole words many of which have a punctuation mark at their end."""
    if not vocabulary_types[meta["vocab"]["type"]].whole_words:
        return
    for name in meta["dictionaries"]:
        words = [word.lstrip("\u2581") for word in read_dictionary(out / name)[SPECIALS:]]
        marked = [word for word in words if word[:1].isalnum() and category(word[-1])[0] == "P"]
        if len(marked) > _MARKED * len(words):
            yield (
                f"  note: {len(marked):,} of {len(words):,} words of {name} end in a punctuation "
                f"mark, such as {min(marked)}; `--segment LANG=space` cuts marks off"
            )


def swapped_sides(sources: Sources) -> Iterator[str]:
    """Notes on parallel text whose sides look swapped: their words are those of dictionaries and
    other text in the other side's language."""
    words_of = functools.cache(
        lambda file: Counter(" ".join(islice(read_lines(file), _LOOKED_AT)).split())
    )
    entries = {pair: read_entries(file) for pair, file in sources.dictionaries.items()}
    for (split, pair), sides in sources.parallel.items():
        known = []
        for lang, own in zip(pair, sides, strict=True):
            words = {e[p.index(lang)] for p, found in entries.items() if lang in p for e in found}
            others = [file for file in sources.text_of(lang) if file != own]
            known.append(words.union(*map(words_of, others)))
        shares = [[_share(words_of(side), words) for words in known] for side in sides]
        straight, crossed = shares[0][0] + shares[1][1], shares[0][1] + shares[1][0]
        if crossed > max(2 * straight, 2 * _SAME):
            yield (
                f"`--parallel` {split}.{'-'.join(pair)}: by other text or dictionaries {sides[0]} "
                f"has the words of {pair[1]}, and {sides[1]} those of {pair[0]}; are the files or "
                "the languages swapped?"
            )


def _share(counts: Counter[str], words: Collection[str]) -> float:
    """The share of words as counted that are among ``words``."""
    return sum(counts[word] for word in counts.keys() & words) / max(counts.total(), 1)


def _unknown(unknown: int, tokens: int) -> str:
    return f" ({100 * unknown / tokens:.2f} % unknown)" if tokens else ""
