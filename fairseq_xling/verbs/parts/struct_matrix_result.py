"""The result of `fairseq-xling struct matrix`: relations or roles, by training set and language.

Models and training sets down, test files across; models are compared seed by seed, within a run and
with finished others.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, write_json
from fairseq_xling.provenance import machine
from fairseq_xling.results.charts import heat_map
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.frame import listed, make_frame, pivot
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import LEVEL, paired_difference, shown_p
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.results.tables import text_table, write_csv, write_markdown

if TYPE_CHECKING:
    from fairseq_xling.verbs.parts.struct_config import MatrixConfig

Record = Mapping[str, Any]
Model = tuple[str, str]  # network and variant
AWAY = "not trained on"  # in place of a test file: the mean over such languages
RESULTS = "results.json"  # of a finished run
SOURCE = "transfer note, 3"
TITLES = {"relations": "Structure transfer: relations", "roles": "Structure transfer: roles"}
HEADER = ["model", "compared with", "trained on", "test", "difference", f"{LEVEL:.0%} interval"]
HEADER += ["p", "seeds"]
_KEYS = {"structures", "sources", "languages", "provenance"}
_SCORES = ("precision", "recall", "f1", "right", "predicted", "gold")
# heading of every score's table: column of the frame
_LONG = {"trained on": "row", "network": "network", "variant": "variant", "seed": "seed"}
_LONG |= {"epoch": "epoch", "file": "file", "language": "language"}
_LONG |= {{"f1": "F1"}.get(name, name): name for name in _SCORES}
_PAIRED = "Points of micro F1, model less what it is compared with; paired t-test over seeds."


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


def frame_of(record: Record) -> pandas.DataFrame:
    """A row for each training and test file; errors in a record are KeyErrors.

    ``value`` is F1 in percent, ``model`` the name of network and variant, ``column`` that of the
    file in tables.
    """
    columns = dict(zip(record["languages"], column_names(record["languages"]), strict=True))
    return make_frame(
        {
            **{name: one[name] for name in ("row", "network", "variant", "seed")},
            **{"epoch": one.get("epoch"), "model": model_name(one["network"], one["variant"])},
            **{"file": file, "column": columns.get(file), **scores, "value": 100 * scores["f1"]},
        }
        for one in record["structures"]
        for file, scores in one["scores"].items()
    )


def compared(record: Record, others: Mapping[str, Record]) -> list[dict[str, Any]]:
    """The first model of ``record`` less each other one, and less each one of ``others``.

    One entry for each training set and test file, and one for the mean over languages not trained
    on, if there are any; figures in percent, paired by seed.
    """
    first, *rest = models_of(record["structures"])
    sides = [(record, rest, ""), *((x, models_of(x["structures"]), n) for n, x in others.items())]
    own, found = _by_seed(record, first), []
    for other, models, run in sides:
        seeds = sorted(_seeds(record) & _seeds(other))
        for model in models:
            about = {"model": list(first), "other": list(model), "run": run}
            for row, file, figures in _pairs(record, own, _by_seed(other, model), seeds):
                cell = {**about, "row": row, "file": file, "seeds": seeds}
                found.append({**cell, **paired_difference(*figures)})
    return found


Figures = Mapping[tuple[str, str], Mapping[int, float]]


def _by_seed(record: Record, model: Model) -> Figures:
    """F1 of ``model`` in percent, by training set and file, and by seed."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for one in record["structures"]:
        if (one["network"], one["variant"]) == model:
            for file, scores in one["scores"].items():
                found.setdefault((one["row"], file), {})[one["seed"]] = 100 * scores["f1"]
    return found


def _pairs(
    record: Record, own: Figures, theirs: Figures, seeds: Sequence[int]
) -> Iterator[tuple[str, str, list[list[float]]]]:
    """Figures of both models by row and file; row and file of the mean are empty and `AWAY`."""
    trained = {row for row, _ in theirs}
    away = []
    for row, langs in record["sources"].items():
        for file, lang in record["languages"].items() if row in trained else ():
            both = [[side[row, file][seed] for seed in seeds] for side in (own, theirs)]
            yield row, file, both
            if lang not in langs:
                away.append(both)
    if away:
        yield (
            "",
            AWAY,
            [
                [statistics.fmean(of_seed) for of_seed in zip(*side, strict=True)]
                for side in zip(*away, strict=True)
            ],
        )


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


def figures(record: Record, model: Model, row: str, file: str) -> list[float]:
    """F1 of every seed in percent; errors in a record are KeyErrors."""
    return list(_by_seed(record, model).get((row, file), {}).values())


def heat(record: Record, model: Model) -> Any:
    """The heat map of one model: training sets down from the top, test files across."""
    frame = frame_of(record)
    own = frame[frame["model"] == model_name(*model)]
    own = own.assign(value=own["value"] / 100)
    words = {"xlabel": "test", "ylabel": "trained on", "what": "micro F1"}
    rows, columns = list(record["sources"])[::-1], column_names(record["languages"])
    names = {"rows": rows, "columns": columns, "title": model_name(*model)}
    return heat_map(own, row="row", column="column", **words, **names)


def column_names(languages: Mapping[str, str]) -> list[str]:
    """The language of each test file, or its name if two are of one language."""
    langs = list(languages.values())
    return [lang if langs.count(lang) == 1 else file for file, lang in languages.items()]


def write_matrix(
    output: Path,
    config: "MatrixConfig",
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
    write_csv(output / "table.csv", *listed(frame_of(record), _LONG))
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


def _table(record: Record) -> tuple[list[str], list[list[Any]]]:
    names = column_names(record["languages"])
    header, rows = pivot(
        frame_of(record), {"model": "model", "trained on": "row"}, "column", order=names, digits=1
    )
    always = []
    for row, one in record["majority"].items():
        values = [f"{100 * one['f1'][file]:.1f}" for file in record["languages"]]
        always.append([f"always {one['label']}", row, *values])
    return header, [*(list(map(str, row)) for row in rows), *always]


def _notes(config: "MatrixConfig", record: Record) -> list[str]:
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
        for note in notes_of_scores(one["scores"]):
            seen.setdefault(note, {})[one["row"]] = None
    rows = {one["row"] for one in record["structures"]}
    for note, where in seen.items():
        found.append(note if len(where) == len(rows) else f"trained on {', '.join(where)}, {note}")
    return [*found, machine()]


def notes_of_scores(scores: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What a reader of a model's scores must know."""
    found = []
    for name, one in scores.items():
        if unseen := one["unseen_labels"]:
            shown = ", ".join(f"{label} ({count})" for label, count in list(unseen.items())[:8])
            found.append(
                f"{name}: {len(unseen)} labels do not occur in training and are never predicted: "
                f"{shown}"
            )
        if one["unknown_words"]:
            share = 100 * one["unknown_words"] / one["words"]
            found.append(f"{name}: {share:.1f} % of the words have no vector")
    return found


@KINDS.register("structures")
class Structures:
    """A heat map for each network, and the table."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"structures", "sources", "languages", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], record["rows"]
        facts = ("Micro F1 without NONE.", seeds_in_words(sorted(_seeds(record)), ""))
        notes = caption(result, SOURCE, *facts)
        names = dict(zip(record["languages"], column_names(record["languages"]), strict=True))
        pairs = table(record.get("paired", []), names)
        sections = [Section("Table", header=header, rows=rows, notes=record["notes"])]
        tables = {"table": (header, rows), "scores": listed(frame_of(record), _LONG)}
        if pairs:  # runs before there was `--compare` have none
            sections.append(Section("Differences", header=HEADER, rows=pairs, notes=[_PAIRED]))
            tables["paired"] = (HEADER, pairs)
        models = models_of(record["structures"])
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
                    for model in models
                    if not model[1]
                ),
                *sections,
            ],
            tables=tables,
            measured=[
                Measured(
                    "E13",
                    f"F1 (%) in {lang}, trained on {row}, {model_name(*models[0])}",
                    statistics.fmean(figures(record, models[0], row, file)),
                )
                for row in record["sources"]
                for file, lang in record["languages"].items()
            ],
        )
