"""The result of `fairseq-xling struct matrix`: relations or roles, by training set and language.

Models and training sets down, test files across; models are compared seed by seed, within a run and
with finished others.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, write_json
from fairseq_xling.provenance import machine
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import LEVEL, paired_difference, shown_p
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.results.statistics import mean_and_spread
from fairseq_xling.results.tables import text_table, write_csv, write_markdown
from fairseq_xling.verbs.parts.struct_config import MatrixConfig
from fairseq_xling.verbs.parts.struct_train import notes as notes_of

Record = Mapping[str, Any]
Model = tuple[str, str]  # network and variant
AWAY = "not trained on"  # in place of a test file: the mean over such languages
RESULTS = "results.json"  # of a finished run
_KEYS = {"structures", "sources", "languages", "provenance"}
HEADER = ["model", "compared with", "trained on", "test", "difference", f"{LEVEL:.0%} interval"]
HEADER += ["p", "seeds"]


def read_others(folders: Sequence[str]) -> dict[str, Record]:
    """The finished runs in ``folders``, by folder name."""
    found: dict[str, Record] = {}
    for folder in folders:
        path = Path(folder).resolve() / RESULTS
        if not path.is_file():
            raise UserError(f"`--compare` {folder}: must be a finished run of `struct matrix`")
        other = read_json(path)
        if not isinstance(other, dict) or not other.keys() >= _KEYS:
            raise UserError(f"{path}: must be the results of `struct matrix`")
        name = path.parent.name
        if name in found:
            raise UserError(f"`--compare` must name folders of different names, got {name} twice")
        found[name] = other
    return found


def check_others(record: Record, others: Mapping[str, Record]) -> None:
    """Check that figures of ``others`` can be compared with those of ``record``, seed by seed."""
    for name, other in others.items():
        shared = other["sources"].keys() & record["sources"].keys()
        for what, common in (
            ("training set", shared),
            ("seed", _seeds(other) & _seeds(record)),
        ):
            if not common:
                raise UserError(f"`--compare` {name}: must have a {what} of this run")
        languages = {lang for row in shared for lang in record["sources"][row]}
        theirs = other["provenance"]["inputs"]
        for role, one in record["provenance"]["inputs"].items():
            kind, file = role.split(" ", 1)
            if kind == "compare" or (kind != "test" and file.rstrip("0123456789") not in languages):
                continue
            if role not in theirs or theirs[role]["sha256"] != one["sha256"]:
                raise UserError(
                    f"`--compare` {name}: must have read the same files as this run, not another "
                    f"{kind} file than {one['path']}"
                )


def compared(record: Record, others: Mapping[str, Record]) -> list[dict[str, Any]]:
    """The first model of ``record`` less each other one, and less each one of ``others``.

    One entry for each training set and test file, and one for the mean over languages not trained
    on, if there are any; figures in percent, paired by seed.
    """
    first = models_of(record["structures"])[0]
    sides = [(record, model, "") for model in models_of(record["structures"])[1:]]
    sides += [
        (other, model, name)
        for name, other in others.items()
        for model in models_of(other["structures"])
    ]
    return [
        {"model": list(first), "other": list(model), "run": name, "row": row, "file": file,
         "seeds": seeds, **paired_difference(own, theirs)}
        for other, model, name in sides
        for row, file, seeds, own, theirs in _pairs(record, first, other, model)
    ]  # fmt: skip


def _pairs(
    record: Record, first: Model, other: Record, model: Model
) -> Iterator[tuple[str, str, list[int], list[float], list[float]]]:
    """Figures of both models by row and file; row and file of the mean are empty and `AWAY`."""
    seeds = sorted(_seeds(record) & _seeds(other))
    away: list[tuple[list[float], list[float]]] = []
    for row, langs in record["sources"].items():
        if row not in other["sources"]:
            continue
        for file, lang in record["languages"].items():
            own, theirs = (
                [_figure(of, one, row, seed, file) for seed in seeds]
                for of, one in ((record, first), (other, model))
            )
            yield row, file, seeds, own, theirs
            if lang not in langs:
                away.append((own, theirs))
    if away:
        own, theirs = (
            [statistics.fmean(of_seed) for of_seed in zip(*side, strict=True)]
            for side in zip(*away, strict=True)
        )
        yield "", AWAY, seeds, own, theirs


def table(found: Sequence[Mapping[str, Any]], languages: Mapping[str, str]) -> list[list[Any]]:
    """Rows of `HEADER`."""
    return [
        [
            model_name(*one["model"]),
            model_name(*one["other"]) + (f" ({one['run']})" if one["run"] else ""),
            one["row"] or "each",
            languages.get(one["file"], one["file"]),
            f"{one['mean']:+.1f}",
            "" if one["low"] is None else f"{one['low']:+.1f} to {one['high']:+.1f}",
            "" if one["p"] is None else shown_p(one["p"]).removeprefix("= "),
            len(one["seeds"]),
        ]
        for one in found
    ]


def models_of(results: Sequence[Mapping[str, Any]]) -> list[Model]:
    """Networks with their variants, in the order of the run."""
    return list(dict.fromkeys((one["network"], one["variant"]) for one in results))


def model_name(network: str, variant: str) -> str:
    """As tables show it.

    >>> model_name("gcn", ""), model_name("gcn", "L = 0")
    ('gcn', 'gcn, L = 0')
    """
    return ", ".join(filter(None, (network, variant)))


def _seeds(record: Record) -> set[int]:
    return {one["seed"] for one in record["structures"]}


def _figure(record: Record, model: Model, row: str, seed: int, file: str) -> float:
    for one in record["structures"]:
        if ((one["network"], one["variant"]), one["row"], one["seed"]) == (model, row, seed):
            return 100 * one["scores"][file]["f1"]
    raise KeyError((model, row, seed))


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


SOURCE = "transfer note, 3"
_PAIRED = "Points of micro F1, model less what it is compared with; paired t-test over seeds."


@KINDS.register("structures")
class Structures:
    """A heat map for each network, and the table."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"structures", "sources", "languages", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], record["rows"]
        seeds = sorted({one["seed"] for one in record["structures"]})
        facts = ("Micro F1 without NONE.", seeds_in_words(seeds, ""))
        notes = caption(result, SOURCE, *facts)
        names = dict(zip(record["languages"], column_names(record["languages"]), strict=True))
        pairs = table(record.get("paired", []), names)
        sections = [Section("Table", header=header, rows=rows, notes=record["notes"])]
        tables = {"table": (header, rows), "scores": (LONG, list(long_rows(record)))}
        if pairs:  # runs before there was `--compare` have none
            sections.append(Section("Differences", header=HEADER, rows=pairs, notes=[_PAIRED]))
            tables["paired"] = (HEADER, pairs)
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=[
                "Pairs of mentions were classified on the dependency tree of their sentence. Rows "
                "are what was trained on, columns what was tested on; the diagonal is supervised.",
            ],
            sections=[
                *(
                    Section(model_name(*model), figure=partial(heat, record, model), notes=notes)
                    for model in models_of(record["structures"])
                    if not model[1]
                ),
                *sections,
            ],
            tables=tables,
            measured=list(_measured(record)),
        )


def _measured(record: Mapping[str, Any]) -> Iterator[Measured]:
    """Of the first model, the F1 of every training set in every language."""
    model = models_of(record["structures"])[0]
    for row in record["sources"]:
        for file, lang in record["languages"].items():
            value = statistics.fmean(figures(record, model, row, file))
            what = f"F1 (%) in {lang}, trained on {row}, {model_name(*model)}"
            yield Measured("E13", what, value)
