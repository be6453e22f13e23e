"""The results of a run of CLCR: distances, key-points and orders over seeds.

With other results of CLCR, one page of all: figure and tables of the paper in its order.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.papers.clcr.labels import Labels
from fairseq_xling.papers.clcr.sequences import META
from fairseq_xling.results.charts import bars
from fairseq_xling.results.frame import figures, make_frame, pivot, spread
from fairseq_xling.results.page import (
    Measured,
    Page,
    Result,
    caption,
    join_results,
    seeds_in_words,
)
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, kind_of, make_page, write_results
from fairseq_xling.results.tables import text_table
from fairseq_xling.runs import training_log
from fairseq_xling.runs.step import Step

FILES = ("summary.txt", "results.json", "report.html")
_DISTANCES = ("distance", "relative", "hard", "entropy")
# The paper's table of each of ours, and the columns that tell its rows apart.
TABLES = {
    "distances": ("CLCR, Table 1", ("phase",)),
    "keypoints": ("CLCR, Table 2", ("language", "delta")),
    "order": ("CLCR, Table 3", ("order", "search")),
}
# Rows of the index: their table, and what its measures begin with.
_INDEXED = {
    "C4": ("distances", "distance"),
    "C10": ("keypoints", "accuracy"),
    "C13": ("order", "BLEU-2"),
}
_DRAWN = ("distance", "relative", "accuracy", "precision", "recall", "BLEU")
_COUNTS = ("key-points", "tokens", "sentences/s")

# The kinds, in the order of the paper; the report on its definition comes first.
JOINS = (
    "clcr-report", "clcr-curves", "clcr-run", "clcr-keypoints", "clcr-order", "clcr-show",
    "clcr-classify", "clcr-pairs", "clcr-readings", "probing",
)  # fmt: skip


def write_run(
    run: Path,
    all_artifacts: Sequence[Any],
    pair: tuple[str, str],
    precision: str,
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``, of trainings in ``precision``, and its tables as CSV."""
    found = [read_artifacts(artifacts, pair) for artifacts in all_artifacts]
    files = {f"model, seed {artifacts.seed}": artifacts.model for artifacts in all_artifacts}
    record = {"pair": pair, "precision": precision, "seeds": [about for about, _ in found]}
    frame = make_frame((row for _, rows in found for row in rows), paper="clcr")
    write_results(ClcrRun, run, record, files, steps, frame)
    with atomic_write(run / "summary.txt", "w") as file:
        for about, rows in found:
            file.write(_text(about, make_frame(rows)) + "\n\n")


def read_artifacts(
    artifacts: Any, pair: tuple[str, str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the labels, tables and sequences of a seed are, and the figures of its trainings and
    tables as rows of a frame; ``table`` is one of `TABLES`, whose columns name the row."""
    about: dict[str, Any] = {"seed": artifacts.seed, "sequences": []}
    rows: list[dict[str, Any]] = []

    def add(table: str, named: Sequence[Any], measured: Mapping[str, Any]) -> None:
        of = dict(zip(TABLES[table][1], named, strict=True))
        row = " ".join(str(part) for part in named if part != "")
        for measure, value in measured.items():
            known = None if value != value else value  # NaN: a share of nothing
            rows.append({"table": table, "row": row, "seed": artifacts.seed, **of})
            rows[-1] |= {"measure": measure, "value": known}

    for name, log in artifacts.logs.items():
        if not name.startswith(("transform", "lm")):
            continue
        curves = training_log.read_curves(log, "valid") or training_log.read_curves(log, "train")
        ways = ("_".join(pair), "_".join(pair[::-1]))
        columns = [f"{kind}_{way}" for way in ways for kind in _DISTANCES]
        columns += [f"spread_{lang}" for lang in pair]
        last = {x.replace("_", " "): curves[x][-1][1] if x in curves else None for x in columns}
        add("distances", [name], last)
    if artifacts.labels:
        meta = Labels(artifacts.labels / "train").meta
        about["threshold"] = meta["settings"]["threshold"]
        about["tuned"] = meta["settings"].get("tuned")
        about["pivots"] = {"pairs": meta["sentences"], "pivots": meta["pivots"]}
    for verb, path in artifacts.tables.items():
        table = read_json(path)
        about[verb] = {name: table[name] for name in ("title", "split", "notes")}
        for row in table["rows"]:
            add(verb, row[:2], dict(zip(table["header"][2:], row[2:], strict=True)))
    for folder in artifacts.sequences:
        meta = read_json(folder / META)
        about["sequences"].append(
            {
                "folder": str(folder),
                "row": meta["settings"]["row"],
                "lang": meta["settings"]["lang"],
                "sentences": meta["sentences"],
                "vectors": meta["rows"],
            }
        )
    return about, rows


def _text(about: Mapping[str, Any], frame: pandas.DataFrame) -> str:
    parts = [f"seed {about['seed']}"]
    for name, (_, named) in TABLES.items():
        if not (own := frame[frame["table"] == name]).empty:
            of = about.get(name, {"title": "Distances (relative: 1 is chance)", "notes": []})
            notes = [f"({note})" for note in of["notes"]]
            table = text_table(*spread(own, {x: x for x in named}))
            parts += [of["title"], "\n".join([table, *notes])]
        if name == "distances" and "threshold" in about:
            line = f"pivots: {about['pivots']['pivots']:,} of {about['pivots']['pairs']:,} pairs, "
            line += f"threshold {about['threshold']:.4f}"
            if about.get("tuned"):
                line += f" (F1 {about['tuned']['f1']:.3f} on {about['tuned']['split']})"
            parts.append(line)
    if about["sequences"]:
        rows = [
            [
                *(one["row"], one["lang"], one["sentences"]),
                *(one["vectors"] / max(one["sentences"], 1), one["folder"]),
            ]
            for one in about["sequences"]
        ]
        parts.append("Sequences")
        parts.append(text_table(["row", "language", "sentences", "vectors each", "folder"], rows))
    return "\n\n".join(parts)


@KINDS.register("clcr-run")
class ClcrRun(Kind):
    """A table and bars for each of the paper's tables 1 to 3; with other results of CLCR, a page of
    all."""

    name = "clcr-run"
    joins = JOINS

    def join(self, results: Sequence[Result]) -> list[tuple[Result, Page]]:
        """The page of several results in their order; none for fewer than two.

        Probes of an encoder are not CLCR's.
        """
        ours = [
            one
            for one in results
            if kind_of(one.record) != "probing" or one.record.get("row") == "C16"
        ]
        if len(ours) < 2:
            return []
        sections, tables, sources = [], {}, []
        for result in ours:
            page = make_page(result, figures=False)
            sources.append(page.source)
            for section in page.sections:
                title = f"{section.title}: {result.name}"
                sections.append(dataclasses.replace(section, title=title))
            for name, table in page.tables.items():
                tables[f"{result.name}-{name}"] = table
        joined = Page(
            title="CLCR: all results together",
            source="; ".join(dict.fromkeys(sources)),
            lead=["Each of these has its own page, with its numbers and provenance."],
            sections=sections,
            tables=tables,
        )
        return [(join_results("clcr", ours), joined)]

    def page(self, result: Result) -> Page:
        (first, *_), (source, target) = result.record["seeds"], result.record["pair"]
        frame = result.frame
        words = seeds_in_words(list(dict.fromkeys(frame["seed"])))
        sections, tables = [], {}
        for name, (paper, named) in TABLES.items():
            if (own := frame[frame["table"] == name]).empty:
                continue
            of = first.get(name, {"title": "Distance of translations", "notes": []})
            digits = {x: 0 if x in _COUNTS else 3 for x in own["measure"]}
            header, rows = pivot(own, {", ".join(named): "row"}, digits=digits)
            drawn = {x: x for x in own["measure"][own["value"].notna()] if x.startswith(_DRAWN)}
            shown = own[own["measure"].isin(drawn)]
            figure = partial(bars, shown, drawn, panel="measure") if drawn else None
            notes = [*caption(result, paper, words), *of["notes"]]
            sections.append(
                Section(of["title"], figure=figure, header=header, rows=rows, notes=notes)
            )
            tables[name] = spread(own, {x: x for x in ("seed", *named)})
        return Page(
            title=f"CLCR, {source} and {target}",
            source="CLCR, Tables 1 to 3",
            lead=[
                f"States of {source} are mapped to those of {target}. relative: D divided by the "
                "spread of the target's states, 1 at chance level. Shares are in [0, 1]."
            ],
            sections=sections,
            tables=tables,
            measured=list(_measured(frame)),
        )


def _measured(frame: pandas.DataFrame) -> Iterator[Measured]:
    """Distances after the last phase, accuracy of key-points, and order BLEU-2."""
    for code, (table, begins) in _INDEXED.items():
        own = frame[(frame["table"] == table) & frame["measure"].str.startswith(begins)]
        *_, last = ["", *own["row"]]
        for (measure, row), values in figures(own, "measure", "row").items():
            if table != "distances":
                yield Measured(code, f"{measure}, {row}", statistics.fmean(values))
            elif row == last:
                yield Measured(code, f"{measure}, after {row}", statistics.fmean(values))
