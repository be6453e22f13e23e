"""Entity overlap against zero-shot F1: Pires et al. (2019), Figure 2.

    overlap = |E_train ∩ E_eval| / |E_train ∪ E_eval|

with ``E`` the set of the subwords inside the entities of a file. Subwords are compared by spelling,
not by id: the definition is of wordpieces, and in folders whose languages have their own ids
(``--vocab prefixed``, ``separate``) one wordpiece has several ids, or one id means several. In all
other folders both are the same. ``<unk>`` is not a subword.
"""

import argparse
import functools
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairseq_xling.columns import on_disk
from fairseq_xling.data.folder import SPECIALS, UNK, DataFolder, read_dictionary
from fairseq_xling.errors import UserError
from fairseq_xling.studies.transfer.finished import FinishedFigure, read_runs, training_files
from fairseq_xling.studies.transfer.plan import data_folder
from fairseq_xling.studies.transfer.scatter_result import (
    Point,
    Property,
    write_scatter,
)
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.heads.ner import Ner
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
    """The distinct words inside the spans of a file, in its order.

    Raises:
        UserError: for a damaged row or a tag that is not BIO (file and line), or no span at all.
    """
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
    """The subwords inside the spans of a file, as input of encoders that read ``data``.

    Raises:
        UserError: as `entity_words`, and for an invalid folder or one without the language.
    """
    words = entity_words(path, head, columns)
    folder = DataFolder(data)
    # Words are read one by one, so nothing is cut, however few the positions.
    found = Codec(data, lang, max_positions=0).words(words)
    piece = mode_of(folder).piece
    symbols = read_dictionary(folder.dictionary_path(lang))
    ids = np.unique(np.concatenate(found))
    unknown = sum(bool((word == UNK).any()) for word in found) / len(found)
    return Entities(frozenset(piece(symbols[i]) for i in ids if i >= SPECIALS), unknown)


def measure(cell: FinishedFigure) -> tuple[Point, dict[str, Path]]:
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
    """The verb ``eval overlap``; returns what it prints.

    Raises:
        UserError: for a folder without a run, a run of another head, or missing or damaged files;
            nothing is written then.
    """
    output = Path(args.output)
    cells = read_runs(args.runs)
    head = cells[0].config.head
    if not issubclass(heads[head], Ner):
        known = ", ".join(name for name in heads if issubclass(heads[name], Ner))
        raise UserError(
            f"{cells[0].run}: entities need a head of BIO spans ({known}), got {head!r}"
        )
    measured = [measure(cell) for cell in cells]
    inputs = {role: path for _, roles in measured for role, path in roles.items()}
    return write_scatter(output, PROPERTY, [point for point, _ in measured], inputs)


PROPERTY = Property(
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
