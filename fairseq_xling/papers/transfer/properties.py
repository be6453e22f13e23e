"""Properties of two languages that zero-shot figures are compared with.

Entity overlap against zero-shot F1: Pires et al. (2019), Figure 2.

    overlap = |E_train ∩ E_eval| / |E_train ∪ E_eval|

with ``E`` the set of the subwords inside the entities of a file. Subwords are compared by spelling,
not by id: the definition is of wordpieces, and in folders whose languages have their own ids
(``--vocab prefixed``, ``separate``) one wordpiece has several ids, or one id means several. In all
other folders both are the same. ``<unk>`` is not a subword.

Shared word-order features against zero-shot figures: Pires et al. (2019), Figure 3.

The user supplies the table of features, for example from the World Atlas of Language Structures, on
the order of subject, object and verb, or adjective and noun. A feature that is unknown for either
language is neither shared nor different.
"""

import argparse
import dataclasses
import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairseq_xling.core.columns import on_disk
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_lines
from fairseq_xling.data.folder import SPECIALS, UNK, DataFolder, read_dictionary
from fairseq_xling.papers.transfer.plan import data_folder
from fairseq_xling.papers.transfer.scatter_result import (
    FinishedFigure,
    Point,
    Property,
    read_runs,
    training_files,
    write_scatter,
)
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.heads.tagging import Ner
from fairseq_xling.tasks.items import parse_columns
from fairseq_xling.tasks.spans import check_bio
from fairseq_xling.text.vocabularies import mode_of


def jaccard(first: Set[str], second: Set[str]) -> float:
    """The share of all members that both sets have; 0 of nothing.

    >>> jaccard({"a", "b", "c"}, {"b", "c", "d", "e"}), jaccard({"a"}, {"a"}), jaccard(set(), set())
    (0.4, 1.0, 0.0)
    """
    either = len(first | second)
    return len(first & second) / either if either else 0.0


@dataclass(frozen=True)
class Entities:
    """The distinct subwords inside a file's spans, and the share of the words there with an
    unknown one."""

    subwords: frozenset[str]
    unknown: float


def entity_words(path: Path, head: str, columns: str = "") -> list[str]:
    """The distinct words inside the spans of a file, in its order."""
    found: dict[str, None] = {}
    for item in formats[heads[head].format].read(path, parse_columns(columns)):
        check_bio(item)
        for number, tag in enumerate(item.tags or ()):
            if tag != "O":  # an I that continues nothing begins a span
                found[item.words[number]] = None
    if not found:
        raise UserError(f"{path}: has no spans")
    return list(found)


@functools.cache
def read_entities(path: Path, head: str, columns: str, data: Path, lang: str) -> Entities:
    """The subwords inside the spans of a file, as input of encoders that read ``data``."""
    words = entity_words(path, head, columns)
    folder = DataFolder(data)
    # Words are read one by one, so nothing is cut, however few the positions.
    found = Codec(data, lang, max_positions=0).words(words)
    piece = mode_of(folder).piece
    symbols = read_dictionary(folder.dictionary_path(lang))
    ids = np.unique(np.concatenate(found))
    unknown = sum(bool((word == UNK).any()) for word in found) / len(found)
    return Entities(frozenset(piece(symbols[i]) for i in ids if i >= SPECIALS), unknown)


def measure_overlap(cell: FinishedFigure) -> tuple[Point, dict[str, Path]]:
    """The overlap of a cell's test file with the files that its model was trained on.

    Returns:
        It, and the files that it comes from, by role.
    """
    data = data_folder(cell.config, cell.encoder)
    trained = [(lang, path) for lang, path in training_files(cell.config) if lang in cell.sources]
    test = cell.tested
    for path in (data, *(path for _, path in trained), test):
        if not on_disk(path).exists():
            raise UserError(
                f"{path}: no such file; the files of the run {cell.run} are relative to the folder "
                "where it was started"
            )
    read = functools.partial(_read, cell, data)
    train, tested = [read(lang, path) for lang, path in trained], read(cell.lang, test)
    first = frozenset().union(*(one.subwords for one in train))
    overlap = jaccard(first, tested.subwords)
    details = {
        "overlap": overlap,
        "shared": len(first & tested.subwords),
        "in train": len(first),
        "in test": len(tested.subwords),
        "unknown (%)": 100 * tested.unknown,
    }
    roles = {f"train {path}": path for _, path in trained}
    return Point(cell, overlap, details), {
        **roles,
        f"test {test}": test,
        f"data {data}": data / "meta.json",
    }


def _read(cell: FinishedFigure, data: Path, lang: str, path: Path) -> Entities:
    return read_entities(path, cell.config.head, cell.config.columns, data, lang)


def run_overlap(args: argparse.Namespace) -> str:
    """The verb ``eval overlap``; returns what it prints."""
    output = Path(args.output)
    cells = read_runs(args.runs)
    head = cells[0].config.head
    if not issubclass(heads[head], Ner):
        known = ", ".join(name for name in heads if issubclass(heads[name], Ner))
        raise UserError(
            f"{cells[0].run}: entities need a head of BIO spans ({known}), got {head!r}"
        )
    measured = [measure_overlap(cell) for cell in cells]
    inputs = {role: path for _, roles in measured for role, path in roles.items()}
    return write_scatter(output, OVERLAP, [point for point, _ in measured], inputs)


OVERLAP = Property(
    title="Zero-shot transfer and entity overlap",
    lead="Does an encoder transfer because the entities of two languages share subwords? Then its "
    "points rise to the right; if they are level, it transfers more than shared subwords.",
    csv="overlap",
    row="E9",
    figure="Figure 2",
    xlabel="entity subword overlap (share of the union)",
    notes=(
        "Overlap: of the distinct subwords inside the spans of the training file (in train) or "
        "the test file (in test), compared by spelling, the share that both have (shared). Unknown "
        "ones are excluded.",
        "Unknown: distinct words inside the test file's spans with an unknown subword.",
    ),
)


KEY = "language"
_UNKNOWN = ("?", "-", "--", "nan")  # two unknown values must not count as equal


def shared_features(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """The numbers of features with the same value in both languages, and of those known for both.

    >>> shared_features(["SVO", "", "Adj-N", "Prep"], ["SOV", "Gen-N", "Adj-N", "Prep"])
    (2, 3)
    """
    known = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
    return sum(a == b for a, b in known), len(known)


def read_features(path: str | Path) -> dict[str, list[str]]:
    """By language its value of every feature; empty if unknown."""
    table: dict[str, list[str]] = {}
    names: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        place = f"{path}:{number}"
        if not names:
            names = _header(place, cells)
            continue
        lang, values = cells[0], cells[1:]
        if len(cells) != len(names):
            raise UserError(f"{place}: must have {len(names)} columns, got {len(cells)}")
        if not lang:
            raise UserError(f"{place}: the language is empty")
        if lang in table:
            raise UserError(f"{place}: there is already a row of language {lang!r}")
        for name, value in zip(names[1:], values, strict=True):
            if value in _UNKNOWN:
                raise UserError(
                    f"{place}: an unknown {name!r} must be an empty cell, got {value!r}"
                )
        table[lang] = values
    if not table:
        raise UserError(f"{path}: contains no languages")
    return table


def _header(place: str, cells: list[str]) -> list[str]:
    if cells[0] != KEY or len(cells) < 2:
        got = "\t".join(cells)
        raise UserError(
            f"{place}: the first row must be {KEY!r} and names of features, tab-separated, "
            f"got {got!r}"
        )
    for name in cells:
        if not name or cells.count(name) > 1:
            raise UserError(f"{place}: features must have different names, got {name!r}")
    return cells


def measure_word_order(
    path: str | Path, table: Mapping[str, Sequence[str]], cells: Sequence[FinishedFigure]
) -> list[Point]:
    """A `Point` for each cell; x is None if no feature is known for both languages."""
    for cell in cells:
        if len(cell.sources) > 1:
            raise UserError(
                f"{cell.run}: must have one training language to compare the word order with, got "
                f"{', '.join(cell.sources)}"
            )
    wanted = dict.fromkeys(lang for cell in cells for lang in (*cell.sources, cell.lang))
    missing = [lang for lang in wanted if lang not in table]
    if missing:
        raise UserError(
            f"{path}: has no row of {', '.join(map(repr, missing))}; it has {', '.join(table)}"
        )
    points = []
    for cell in cells:
        shared, known = shared_features(table[cell.sources[0]], table[cell.lang])
        details = {"shared": shared, "known": known, "features": f"{shared} of {known} known"}
        points.append(Point(cell, shared if known else None, details))
    return points


def run_word_order(args: argparse.Namespace) -> str:
    """The verb ``eval word-order``; returns what it prints."""
    output = Path(args.output)
    cells, table = read_runs(args.runs), read_features(args.features)
    points = measure_word_order(args.features, table, cells)
    size = len(next(iter(table.values())))
    prop = dataclasses.replace(WORD_ORDER, xlabel=f"shared word-order features (of {size})")
    unknown = [point.cell.lang for point in points if point.x is None]
    if unknown:
        note = f"Left out, as no feature is known: {', '.join(dict.fromkeys(unknown))}."
        prop = dataclasses.replace(prop, notes=(*prop.notes, note))
    return write_scatter(output, prop, points, {"features": Path(args.features)})


WORD_ORDER = Property(
    title="Zero-shot transfer and word order",
    lead="Does an encoder transfer better between languages with similar word order? Then "
    "its points rise to the right.",
    csv="word_order",
    row="E10",
    figure="Figure 3",
    xlabel="shared word-order features",
    whole=True,
    notes=(
        "Shared: features of the table with the same value in the training and the test language; "
        "known: those with a value in both. Languages with fewer known features can share less.",
    ),
)
