"""Train, link or inspect vectors of a data folder's subwords, or of words.

fairseq-xling embed train data-bin --languages de --output de.safetensors --dim 384
fairseq-xling embed link data-bin --pair en-de --source-vectors en.st --output de.safetensors
fairseq-xling embed words data-bin --lang de --text de.txt --output fasttext-de
fairseq-xling embed inspect de.safetensors mapped.safetensors --word Hund --output figures
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import DATA, FILE, NEW_FOLDER, NEW_REPORTED, Input
from fairseq_xling.core.options import REQUIRED, add_fields, argument, option, part_of, values_of
from fairseq_xling.core.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, Range
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made
from fairseq_xling.reports.rows import Row

if TYPE_CHECKING:
    from fairseq_xling.analysis.fasttext import FastTextOptions, WordVectors
    from fairseq_xling.mapping.neighbourhood import Neighbourhood
    from fairseq_xling.text.encoder import TextEncoder

GROUP = "Migrate"
_LINES = 10_000  # segmented at a time

_TRAIN = """\
Train a vector for every subword of a data folder by skip-gram with negative sampling, or by
fastText, which adds vectors of character n-grams.

Reads the folder's monolingual training text, sentences of all languages mixed. Vectors of a single
language can be mapped to another language's; several together only share a table.
OUTPUT.json reports what was done. Subwords that do not occur, and special symbols, are drawn from
the distribution of the others. If interrupted, the same command resumes with the next epoch.
"""

_LINK = """\
Set the vector of every subword of a data folder to the mean of the source encoder's embeddings of
the subwords that it is aligned with in the parallel training text.

Such vectors are already in the source's embedding space and need no map. Subwords that the
source spells identically keep its embedding; those without links or embedding are drawn at random
by `fairseq-xling init`. The folder must have been prepared with an --aligner or --alignment.
"""

_WORDS = """\
Train a vector for every word of a text with fastText, or read those of a .vec file, and write them
in the format of `fairseq-xling extract --unit static`: the baseline without an encoder for
`fairseq-xling eval bli` and `map`. Words are those of the data folder's segmentation. With --words
STATIC/words.txt both have the same candidate words.

If interrupted, the same command resumes with the next epoch.
"""

_INSPECT = """\
Show a word among all others: a histogram of its cosines, and its nearest neighbours on the plane
that explains most of their variance (TreLM, appendix A.2).

Writes results.json, report.html, table.csv, nearest.md, histogram.svg, and plane-N.svg of every
file.
"""


def _output() -> Any:
    return option(REQUIRED, "vectors file to write (safetensors)", metavar=NEW_REPORTED)


def _skipgram(units: str, epochs: int, negative: int, min_count: int) -> tuple[Any, ...]:
    """What is drawn from the text: epochs, window, negative, min_count."""
    return (
        option(epochs, "passes over the text", range=COUNT),
        option(5, f"{units} on each side, at most", range=COUNT),
        option(negative, "negative samples per word", range=COUNT),
        option(min_count, f"do not train {units} rarer than this", range=NOT_NEGATIVE),
    )


def _ngrams(shortest: int | None, longest: int | None, buckets: int | None) -> tuple[Any, ...]:
    """The character n-grams of fastText: min_n, max_n, buckets."""
    note = "" if shortest else " (default: {}; fasttext only)"
    return tuple(
        option(default, text + note.format(usual), range=COUNT)
        for default, usual, text in (
            (shortest, 3, "length of the shortest character n-grams"),
            (longest, 6, "length of the longest character n-grams"),
            (
                buckets,
                200_000,
                "hash buckets of n-grams; fastText's 2,000,000 are 2.4 GB with width 300",
            ),
        )
    )


def _lr(default: float | None) -> Any:
    note = "" if default else " (default: 0.025, or 0.05 with fasttext)"
    return option(default, f"learning rate, falling to 1e-4{note}", range=Range(1e-4, 1))


def _threads() -> Any:
    return option(1, "above 1 is faster, but not reproducible", range=COUNT)


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    data: str = argument("data folder", DATA)
    output: str = _output()
    languages: str = option(
        "",
        "languages whose text is read, comma-separated (default: all of the folder's); with "
        "separate vocabularies exactly one",
        metavar="CODES",
    )
    vec: str | None = option(
        None,
        "read the vectors from this text file in word2vec's format (also .gz) instead of training "
        "them; words missing from it are counted",
        metavar=FILE,
    )
    dim: int = option(768, "width, which must be the source encoder's", range=COUNT)
    epochs: int
    window: int
    negative: int
    min_count: int
    epochs, window, negative, min_count = _skipgram("subwords", 10, 10, 0)
    method: str = option(
        "skip-gram", "skip-gram, or fasttext (with character n-grams)", metavar="NAME"
    )
    sample: float | None = option(
        None,
        "thin out subwords above this share of the text; 1e-4 for very large vocabularies; 0 = "
        "none (default: 1e-3, or 1e-4 with fasttext)",
        range=BELOW_ONE,
        metavar="X",
    )
    min_n: int | None
    max_n: int | None
    buckets: int | None
    min_n, max_n, buckets = _ngrams(None, None, None)
    lr: float | None = _lr(None)
    threads: int = _threads()
    seed: int = shared.seed()


@dataclasses.dataclass(frozen=True)
class LinkOptions:
    data: str = argument("data folder", DATA)
    output: str = _output()
    pair: str = option(REQUIRED, "the source's language, the new language", metavar="A-B")
    language: str | None = option(
        None,
        "language whose dictionary gets vectors, where each has its own (default: B)",
        metavar="CODE",
    )
    source_vectors: str = option(
        REQUIRED,
        "the source's embeddings (from `fairseq-xling init SOURCE --source-vectors FILE`)",
        metavar=FILE,
    )


@dataclasses.dataclass(frozen=True)
class WordsOptions:
    data: str = argument("data folder, for its segmentation", DATA)
    lang: str = shared.lang()
    text: str = shared.text()
    output: str = shared.output("folder to write; it must be new", NEW_FOLDER)
    words: str | None = option(
        None, "write only these words, the first column of each line", metavar=FILE
    )
    most: int = option(200_000, "without --words, the N most frequent words", range=COUNT)
    vec: str | None = option(
        None, "ready vectors in word2vec's text format, also .gz", metavar=FILE
    )
    dim: int = option(300, "width", range=COUNT)
    epochs: int
    window: int
    negative: int
    min_count: int
    epochs, window, negative, min_count = _skipgram("words", 5, 5, 5)
    min_n: int
    max_n: int
    buckets: int
    min_n, max_n, buckets = _ngrams(3, 6, 200_000)
    lr: float = _lr(0.05)
    threads: int = _threads()
    seed: int = shared.seed()


@dataclasses.dataclass(frozen=True)
class InspectOptions:
    vectors: tuple[str, ...] = argument("file(s) of vectors", Input("VECTORS"), words="+")
    word: str = option(REQUIRED, "the word to look at", metavar="WORD")
    top: int = option(50, "neighbours shown", least=2)
    output: str = shared.output("folder for the results", NEW_FOLDER)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (options, _, text, help) in ACTIONS.items():
        sub = actions.add_parser(
            name, help=help, description=text, formatter_class=parser.formatter_class
        )
        add_fields(sub, options)


def run(args: argparse.Namespace) -> None:
    options, action, *_ = ACTIONS[args.action]
    action(values_of(options, args))


def _train(args: TrainOptions) -> None:
    from fairseq_xling.core.languages import parse_languages
    from fairseq_xling.papers.trelm.skipgram import embedders
    from fairseq_xling.papers.trelm.vectors import import_vectors, train_vectors

    method = embedders[args.method]
    languages = parse_languages(args.languages) if args.languages else []
    if args.vec:
        report = import_vectors(args.data, args.output, languages, args.vec, args.seed)
        share = 100 * report["missing_share_of_text"]
        print(
            f"{args.output}: {report['found_ids']:,} subwords from {args.vec}, "
            f"{report['missing_ids']:,} missing ({share:.2f} % of the text)"
        )
        return
    names = [field.name for field in dataclasses.fields(method.options)]
    for name in ("min_n", "max_n", "buckets"):
        if name not in names and getattr(args, name) is not None:
            raise UserError(f"`--{name.replace('_', '-')}` needs `--method fasttext`")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    options = method.options(**given)
    if options.threads > 1:
        print(
            f"fairseq-xling: warning: with `--threads` {options.threads} two runs give different "
            "vectors",
            file=sys.stderr,
        )
    report = train_vectors(args.data, args.output, languages, options, args.method)
    composed = report["composed_ids"]
    print(
        f"{args.output}: {report['trained_ids']:,} subwords trained on {report['tokens']:,} of "
        f"{','.join(report['settings']['languages'])}, "
        + (f"{composed:,} composed of n-grams, " if composed else "")
        + f"{report['untrained_ids']:,} not ({report['seconds']:.0f} s)"
    )


def _link(args: LinkOptions) -> None:
    from fairseq_xling.core.languages import parse_pair
    from fairseq_xling.papers.trelm.vectors import link_vectors

    with about("`--pair`"):
        pair = parse_pair(args.pair)
    language = args.language or pair[1]
    print(link_vectors(args.data, args.output, pair, language, args.source_vectors))


def _words(args: WordsOptions) -> None:
    from fairseq_xling.analysis.fasttext import FastTextOptions
    from fairseq_xling.core.files import atomic_write, check_files, read_json, sha256, write_json
    from fairseq_xling.core.folders import META, is_finished, new_folder
    from fairseq_xling.core.provenance import provenance
    from fairseq_xling.data.folder import DataFolder
    from fairseq_xling.mapping.text_vectors import WORD_MARK, read_text_vectors
    from fairseq_xling.text.encoder import TextEncoder
    from fairseq_xling.verbs.units.types import count_words, words_of_file

    check_files(args.text, args.words, args.vec)
    options = part_of(FastTextOptions, args)
    data = DataFolder(args.data)
    encode, output = TextEncoder.load(data.path, args.lang), Path(args.output)
    files = {"text": args.text, "data": data.path / "meta.json"}
    files |= {name: getattr(args, name) for name in ("words", "vec") if getattr(args, name)}
    how = {"vec": sha256(args.vec)} if args.vec else dataclasses.asdict(options)
    settings = {"unit": "static", "layers": [0], "dtype": "float32", "lang": args.lang}
    settings |= {"method": "vec" if args.vec else "fasttext", **how, "most": args.most}
    settings |= {"text": sha256(args.text), "dictionary": data.dictionary_digest(args.lang)}
    settings |= {"words": sha256(args.words)} if args.words else {}
    if not is_finished(output, settings):
        counts, lines = count_words(Path(args.text), encode)
        if not lines:
            raise UserError(f"{args.text}: contains no lines")
        with new_folder(output, settings, "embed words") as folder:
            wanted = words_of_file(args.words) if args.words else list(counts)
            if args.vec:
                vectors, known = read_text_vectors(args.vec, [WORD_MARK + one for one in wanted])
                found = {word: vectors[n] for n, word in enumerate(wanted) if known[n]}
            else:
                model = _train_words(args, encode, counts, options, settings)
                rows = dict(zip(model.words, model.vectors(), strict=True))
                found = {word: rows[word] for word in wanted if word in rows}
            if not found:
                raise UserError(f"{args.words or args.text}: none of its words has a vector")
            if not args.words:
                chosen = sorted(found, key=lambda word: (-counts[word], word))[: args.most]
                found = {word: found[word] for word in chosen}
            np.save(folder / "layer00.npy", np.array(list(found.values()), dtype=np.float32))
            occurrences = [counts[word] for word in found]
            np.save(folder / "counts.npy", np.array(occurrences, dtype=np.int64))
            with atomic_write(folder / "words.txt", "w") as file:
                file.writelines(f"{word}\n" for word in found)
            meta = {"settings": settings, "rows": len(found), "row": "line n of words.txt"}
            meta |= {"width": len(next(iter(found.values()))), "provenance": provenance(files)}
            write_json(folder / META, {**meta, "left out": len(wanted) - len(found)})
    meta = read_json(output / META)
    left_out = f"({meta['left out']:,} left out)"
    print(f"{output}: {meta['rows']:,} words, {meta['width']} wide {left_out}")


def _train_words(
    args: WordsOptions,
    encode: TextEncoder,
    counts: Counter[str],
    options: FastTextOptions,
    settings: dict[str, Any],
) -> WordVectors:
    from fairseq_xling.analysis.fasttext import WordVectors, train
    from fairseq_xling.core.folders import work_folder
    from fairseq_xling.core.progress import progress
    from fairseq_xling.core.texts import read_sentences
    from fairseq_xling.text.segment import words_of

    total, model = counts.total(), WordVectors(counts, options)
    with (
        work_folder(args.output, settings) as work,
        progress(total * options.epochs, "fastText", "words") as bar,
    ):

        def sentences() -> Iterator[list[str]]:
            lines = read_sentences(args.text)
            while block := list(islice(lines, _LINES)):
                for line in encode.segment(block):
                    words = words_of(line)
                    bar.update(len(words))
                    yield words

        def keep(epoch: int, model: WordVectors) -> None:
            if epoch == options.epochs:  # the vectors follow at once
                return
            arrays, random = model.state()
            work.keep("training", arrays, {"epochs": epoch, "random": random})

        found = work.find("training")
        done = found[1]["epochs"] if found else 0
        if found:
            model.restore(found[0], found[1]["random"])
        bar.update(total * done)
        return train(counts, sentences, options, keep, model, done)


def _inspect(args: InspectOptions) -> None:
    from fairseq_xling.mapping.neighbourhood import neighbourhood
    from fairseq_xling.mapping.vectors_file import read_vectors
    from fairseq_xling.reports.page import write_run

    check_installed("`fairseq-xling embed inspect`", *OF_PAGES)
    paths, output = list(dict.fromkeys(args.vectors)), Path(args.output)
    found = [neighbourhood(read_vectors(path), path, args.word, args.top) for path in paths]
    output.mkdir(parents=True, exist_ok=True)
    files = {f"vectors {number}": path for number, path in enumerate(paths)}
    write_run(output, made(record_of(args.word, found), files))
    for one in found:
        print(f"{one.name}: {one.word} ~ {' '.join(one.neighbours[:10])}")
    print(f"written to {output}: results.json, report.html, table.csv, nearest.md and figures")


def record_of(word: str, found: Sequence[Neighbourhood]) -> Record:
    """The neighbourhoods of a word in several files, and how they are shown."""
    marks = {
        one.name: [round(float(one.similarities[-1]), 6), f"neighbour {len(one.neighbours)}"]
        for one in found
    }
    histogram = Section(
        "Cosines",
        chart=Chart(
            *("curve", {"measure": "words"}, "row", "cosine"),
            **{"panel": "row", "title": "{row}", "xlabel": "cosine to {of}", "log": "y"},
            marks=marks,
        ),
        notes=["cosines to all words of the file, on a logarithmic scale"],
        name="histogram",
    )
    nearest = Section(
        "Nearest words",
        Table({"rank": "rank"}, "{row}, {measure}", {"measure": ["word", "cosine"]}),
        name="nearest",
    )
    planes = [
        Section(
            f"{one.word} and its {len(one.neighbours)} nearest, {one.name}",
            chart=Chart(
                *("scatter", {"row": one.name, "measure": "second component"}, "kind", "x"),
                xlabel=f"first component, {one.shares[0]:.0%} of the variance",
                ylabel=f"second, {one.shares[1]:.0%}",
                label="word",
            ),
            notes=["on the first two principal components of the nearest words"],
            name=f"plane-{number}",
        )
        for number, one in enumerate(found, 1)
    ]
    return Record(
        f"{word} among its neighbours",
        [{"study": "neighbourhood", **row} for one in found for row in _rows(one)],
        (histogram, nearest, *planes),
        source="TreLM (Li et al., 2021), appendix A.2",
        lead=["Are the nearest words those with nearly the same meaning?"],
        facts={"words": {one.name: int(one.counts.sum()) for one in found}},
    )


def _rows(found: Neighbourhood) -> Iterator[Row]:
    """Rounded to what is of use. A word of the plane has as its value the second component."""
    about = {"row": found.name, "of": found.word}
    edges = np.linspace(-1, 1, len(found.counts) + 1).round(6).tolist()
    for low, high, count in zip(edges[:-1], edges[1:], found.counts.tolist(), strict=True):
        middle = round((low + high) / 2, 6)
        of = {**about, "from": low, "to": high, "cosine": middle, "measure": "words"}
        yield {**of, "value": count}
    cosines = found.similarities.round(6).tolist()
    for rank, (word, cosine) in enumerate(zip(found.neighbours, cosines, strict=True), 1):
        yield {**about, "rank": rank, "measure": "word", "value": word}
        yield {**about, "rank": rank, "word": word, "measure": "cosine", "value": cosine}
    kinds = [found.word, *["nearest words"] * len(found.neighbours)]
    points = [found.own, *found.points]
    for kind, word, point in zip(kinds, [found.word, *found.neighbours], points, strict=True):
        x, y = point.round(6).tolist()
        of = {**about, "kind": kind, "word": word, "x": x}
        yield {**of, "measure": "second component", "value": y}


ACTIONS = {
    "train": (
        TrainOptions,
        _train,
        _TRAIN,
        "skip-gram or fastText on the folder's training text (or vectors from a .vec file)",
    ),
    "link": (
        LinkOptions,
        _link,
        _LINK,
        "means of a source encoder's embeddings, by the folder's word alignment",
    ),
    "words": (
        WordsOptions,
        _words,
        _WORDS,
        "fastText on a text, or ready .vec vectors, as a folder for `eval bli` and `map`",
    ),
    "inspect": (
        InspectOptions,
        _inspect,
        _INSPECT,
        "figures of a word's neighbourhood in one or more files of vectors",
    ),
}
