"""The table of `fairseq-xling struct matrix`: models and training sets down, test files across."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.provenance import machine
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.statistics import mean_and_spread
from fairseq_xling.results.tables import text_table, write_csv, write_markdown
from fairseq_xling.verbs.parts.struct_config import MatrixConfig
from fairseq_xling.verbs.parts.struct_matrix_paired import (
    HEADER,
    check_others,
    compared,
    model_name,
    models_of,
    table,
)
from fairseq_xling.verbs.parts.struct_train import notes as notes_of

LONG = ["trained on", "network", "variant", "seed", "epoch", "file", "language", "precision",
        "recall", "F1", "right", "predicted", "gold"]  # fmt: skip
TITLES = {"relations": "Structure transfer: relations", "roles": "Structure transfer: roles"}


def figures(record: Mapping[str, Any], model: tuple[str, str], row: str, file: str) -> list[float]:
    """F1 of every seed in percent; errors in a record are KeyErrors."""
    return [
        100 * one["scores"][file]["f1"]
        for one in record["structures"]
        if (one["network"], one["variant"]) == model and one["row"] == row
    ]


def heat(record: Mapping[str, Any], model: tuple[str, str]) -> Any:
    """The heat map of one model: training sets down from the top, test files across."""
    from fairseq_xling.results.plots import draw_heat_map

    rows = list(record["sources"])[::-1]
    columns = list(record["languages"])
    matrix = [
        [statistics.fmean(figures(record, model, row, file)) / 100 for file in columns]
        for row in rows
    ]
    names = column_names(record["languages"])
    return draw_heat_map(matrix, rows, names, "test", "trained on", "micro F1", model_name(*model))


def column_names(languages: Mapping[str, str]) -> list[str]:
    """The language of each test file, or its name if two are of one language."""
    langs = list(languages.values())
    return [lang if langs.count(lang) == 1 else file for file, lang in languages.items()]


def write_matrix(
    output: Path,
    config: MatrixConfig,
    rows: Mapping[str, Sequence[str]],
    languages: Mapping[str, str],
    results: Sequence[Mapping[str, Any]],
    always: Mapping[str, Mapping[str, Any]],
    origin: Mapping[str, Any],
    others: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write ``results.json``, ``table.md``, ``table.csv``, a heat map of each network and, if there
    are several models, ``paired.csv``; print the tables.

    Args:
        rows: languages of each training set; languages: of each test file.
        always: `majority` of each training set.
        others: records of other runs to compare with, by name.

    Raises:
        UserError: as `check_others`, or for a damaged record.
    """
    record: dict[str, Any] = {
        "title": TITLES[config.task],
        "config": dataclasses.asdict(config),
        "sources": {row: list(langs) for row, langs in rows.items()},
        "languages": dict(languages),
        "structures": list(results),
        "majority": dict(always),
        "provenance": origin,
    }
    header, rows_ = _table(record)
    notes = _notes(config, record)
    record |= {"header": header, "rows": rows_, "notes": notes}
    record["paired"] = compared(record, {})
    try:
        check_others(record, others)
        record["paired"] = compared(record, others)
    except (KeyError, TypeError, AttributeError):
        names = ", ".join(others)
        raise UserError(f"`--compare` {names}: must be `struct matrix` runs, undamaged") from None
    pairs = table(record["paired"], dict(zip(languages, column_names(languages), strict=True)))
    write_markdown(output / "table.md", header, rows_, notes)
    if pairs:
        write_csv(output / "paired.csv", HEADER, pairs)
    write_csv(output / "table.csv", LONG, list(long_rows(record)))
    drawn = [model for model in models_of(results) if not model[1]]
    for model in drawn:
        write_figure(output / f"heat-map.{model[0]}.svg", partial(heat, record, model))
    write_json(output / "results.json", record)
    print(text_table(header, rows_))
    print("\n".join(f"({note})" for note in notes))
    if pairs:
        print("\n" + text_table(HEADER, pairs))
        print("(points of micro F1, model less what it is compared with, paired t-test over seeds)")
    maps = ", ".join(f"heat-map.{network}.svg" for network, _ in drawn)
    more = ", paired.csv" if pairs else ""
    print(f"written to {output}: results.json, table.md, table.csv, {maps}{more}, predictions/")


def _table(record: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    files, sources = list(record["languages"]), list(record["sources"])
    header = ["model", "trained on", *column_names(record["languages"])]
    rows: list[list[Any]] = []
    for model in models_of(record["structures"]):
        for row in sources:
            values = [figures(record, model, row, file) for file in files]
            rows.append([model_name(*model), row, *(mean_and_spread(own, 1) for own in values)])
    for row in sources:
        found = record["majority"][row]
        values = [f"{100 * found['f1'][file]:.1f}" for file in files]
        rows.append([f"always {found['label']}", row, *values])
    return header, rows


def long_rows(record: Mapping[str, Any]) -> Any:
    """A line for each training and test file; errors in a record are KeyErrors."""
    for one in record["structures"]:
        for name, scores in one["scores"].items():
            about = [one["row"], one["network"], one["variant"], one["seed"], one["epoch"], name]
            values = ("precision", "recall", "f1", "right", "predicted", "gold")
            yield [*about, scores["language"], *(scores[key] for key in values)]


def _notes(config: MatrixConfig, record: Mapping[str, Any]) -> list[str]:
    several = "," in config.seeds
    spread = f"mean ± standard deviation over seeds {config.seeds}" if several else (
        f"seed {config.seeds}"
    )  # fmt: skip
    found = [
        f"micro F1 in percent, pairs without a label not counted, {spread}; rows are what was "
        "trained on, the epoch selected on dev files of the same languages",
        "always: the most frequent label of the training set for every pair",
    ]
    seen: dict[str, dict[str, None]] = {}  # rows by note, in order
    for one in record["structures"]:
        for note in notes_of(one["scores"]):
            seen.setdefault(note, {})[one["row"]] = None
    rows = {one["row"] for one in record["structures"]}
    for note, where in seen.items():
        found.append(note if len(where) == len(rows) else f"trained on {', '.join(where)}, {note}")
    return [*found, machine()]
