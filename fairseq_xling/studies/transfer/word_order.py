"""Shared word-order features against zero-shot figures: Pires et al. (2019), Figure 3.

The user supplies the table of features, for example from the World Atlas of Language Structures, on
the order of subject, object and verb, or adjective and noun. A feature that is unknown for either
language is neither shared nor different.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_lines
from fairseq_xling.studies.transfer.finished import FinishedFigure, read_runs
from fairseq_xling.studies.transfer.scatter_result import (
    Point,
    Property,
    write_scatter,
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
    """By language its value of every feature; empty if unknown.

    Raises:
        UserError: for the first malformed row (file and line).
    """
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


def measure(
    path: str | Path, table: Mapping[str, Sequence[str]], cells: Sequence[FinishedFigure]
) -> list[Point]:
    """A `Point` for each cell; x is None if no feature is known for both languages.

    Raises:
        UserError: for a model of several training languages, or languages without a row.
    """
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
    """The verb ``eval word-order``; returns what it prints.

    Raises:
        UserError: for a folder without a run, or a table that is damaged or lacks a language;
            nothing is written then.
    """
    output = Path(args.output)
    cells, table = read_runs(args.runs), read_features(args.features)
    points = measure(args.features, table, cells)
    size = len(next(iter(table.values())))
    prop = dataclasses.replace(PROPERTY, xlabel=f"shared word-order features (of {size})")
    unknown = [point.cell.lang for point in points if point.x is None]
    if unknown:
        note = f"Left out, as no feature is known: {', '.join(dict.fromkeys(unknown))}."
        prop = dataclasses.replace(prop, notes=(*prop.notes, note))
    return write_scatter(output, prop, points, {"features": Path(args.features)})


PROPERTY = Property(
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
