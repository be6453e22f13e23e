"""The results of a run of CLCR: distances, key-points and orders over seeds.

With other results of CLCR, one page of all: figure and tables of the paper in its order.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.files import atomic_write, read_json
from fairseq_xling.papers.clcr.labels import Labels
from fairseq_xling.papers.clcr.sequences import META
from fairseq_xling.results.page import (
    Measured,
    Page,
    Result,
    Table,
    caption,
    join_results,
    seeds_in_words,
)
from fairseq_xling.results.plots import BarPanel, draw_bars, over_seeds
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, kind_of, make_page, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.results.tables import text_table
from fairseq_xling.runs import training_log
from fairseq_xling.runs.step import Step

FILES = ("summary.txt", "results.json", "report.html")
_DISTANCES = ("distance", "relative", "hard", "entropy")
_SOURCES = {
    "distances": "CLCR, Table 1",
    "keypoints": "CLCR, Table 2",
    "order": "CLCR, Table 3",
}
_DRAWN = ("distance", "relative", "accuracy", "precision", "recall", "BLEU")
_COUNTS = ("key-points", "tokens", "sentences/s")
Seed = Mapping[str, Any]


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
    results = [read_artifacts(artifacts, pair) for artifacts in all_artifacts]
    files = {f"model, seed {artifacts.seed}": artifacts.model for artifacts in all_artifacts}
    record = {"pair": pair, "precision": precision, "seeds": results}
    write_results(ClcrRun, run, record, files, steps)
    with atomic_write(run / "summary.txt", "w") as file:
        for found in results:
            file.write(_text(found) + "\n\n")


def read_artifacts(artifacts: Any, pair: tuple[str, str]) -> dict[str, Any]:
    """What the trainings of a seed, its labels and its sequences have recorded."""
    found: dict[str, Any] = {"seed": artifacts.seed, "distances": [], "sequences": []}
    a, b = pair
    for name, log in artifacts.logs.items():
        if not name.startswith(("transform", "lm")):
            continue
        curves = training_log.read_curves(log, "valid") or training_log.read_curves(log, "train")
        ways = (f"{a}_{b}", f"{b}_{a}")
        columns = [f"{kind}_{way}" for way in ways for kind in _DISTANCES]
        columns += [f"spread_{lang}" for lang in pair]
        last = {x: curves[x][-1][1] if x in curves else None for x in columns}
        found["distances"].append({"phase": name, **last})
    if artifacts.labels:
        meta = Labels(artifacts.labels / "train").meta
        found["threshold"] = meta["settings"]["threshold"]
        found["tuned"] = meta["settings"].get("tuned")
        found["pivots"] = {"pairs": meta["sentences"], "pivots": meta["pivots"]}
    for verb, path in artifacts.tables.items():
        table = read_json(path)
        found[verb] = {name: table[name] for name in ("title", "split", "header", "rows", "notes")}
    for folder in artifacts.sequences:
        meta = read_json(folder / META)
        found["sequences"].append(
            {
                "folder": str(folder),
                "row": meta["settings"]["row"],
                "lang": meta["settings"]["lang"],
                "sentences": meta["sentences"],
                "vectors": meta["rows"],
            }
        )
    return found


def _text(found: Seed) -> str:
    parts = [f"seed {found['seed']}"]
    if found["distances"]:
        header = list(found["distances"][0])
        rows = [list(row.values()) for row in found["distances"]]
        parts.append("Distances (relative: 1 is chance)")
        parts.append(text_table([name.replace("_", " ") for name in header], rows))
    if "threshold" in found:
        line = f"pivots: {found['pivots']['pivots']:,} of {found['pivots']['pairs']:,} pairs, "
        line += f"threshold {found['threshold']:.4f}"
        if found.get("tuned"):
            line += f" (F1 {found['tuned']['f1']:.3f} on {found['tuned']['split']})"
        parts.append(line)
    for verb in ("keypoints", "order"):
        if verb in found:
            table = found[verb]
            parts.append(table["title"])
            notes = [f"({note})" for note in table["notes"]]
            parts.append("\n".join([text_table(table["header"], table["rows"]), *notes]))
    if found["sequences"]:
        rows = [
            [
                *(one["row"], one["lang"], one["sentences"]),
                *(one["vectors"] / max(one["sentences"], 1), one["folder"]),
            ]
            for one in found["sequences"]
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
        seeds, (first, second) = result.record["seeds"], result.record["pair"]
        words = seeds_in_words([one["seed"] for one in seeds])
        sections, tables = [], {}
        for name, source in _SOURCES.items():
            if name in seeds[0]:
                title, header, rows = table(seeds, name)
                own = [] if name == "distances" else seeds[0][name]["notes"]
                notes = [*caption(result, source, words), *own]
                panels = _panels(header, rows)
                figure = partial(draw_bars, panels) if panels else None
                sections.append(
                    Section(title, figure=figure, header=header, rows=rows, notes=notes)
                )
                tables[name] = _long_table(seeds, name)
        return Page(
            title=f"CLCR, {first} and {second}",
            source="CLCR, Tables 1 to 3",
            lead=[
                f"States of {first} are mapped to those of {second}. relative: D divided by the "
                "spread of the target's states, 1 at chance level. Shares are in [0, 1]."
            ],
            sections=sections,
            tables=tables,
            measured=list(_measured(seeds)),
        )


def table(seeds: Sequence[Seed], name: str) -> tuple[str, list[str], list[list[Any]]]:
    """Title, header, and means over seeds with deviations; None if no seed has a figure."""
    title, header, _, keys = _columns(seeds[0], name)
    groups: dict[str, list[Sequence[Any]]] = {}
    for one in seeds:
        for row in _columns(one, name)[2]:
            group = " ".join(str(part) for part in row[:keys] if part != "")
            groups.setdefault(group, []).append(row)
    rows: list[list[Any]] = []
    for group, own in groups.items():
        cells: list[Any] = []
        for place, column in enumerate(header[keys:], start=keys):
            values = [row[place] for row in own]
            there = [value for value in values if value is not None and not math.isnan(value)]
            cells.append(OverSeeds.of(there, 0 if column in _COUNTS else 3))
        rows.append([group, *cells])
    return title, [", ".join(header[:keys]), *header[keys:]], rows


def _long_table(seeds: Sequence[Seed], name: str) -> Table:
    """Every number, unrounded."""
    rows = [[one["seed"], *row] for one in seeds for row in _columns(one, name)[2]]
    return ["seed", *_columns(seeds[0], name)[1]], rows


def _columns(one: Seed, name: str) -> tuple[str, list[str], list[Sequence[Any]], int]:
    """Title, header and rows of a seed's table, and how many columns name a row."""
    found = one[name]
    if name == "distances":
        # JSON files sort their keys.
        names = ["phase", *(column for column in found[0] if column != "phase")]
        rows = [[row[column] for column in names] for row in found]
        return "Distance of translations", [name.replace("_", " ") for name in names], rows, 1
    return found["title"], list(found["header"]), list(found["rows"]), 2


def _panels(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[BarPanel]:
    """A panel of bars for each drawn column that has any figure."""
    panels = []
    for title, *cells in zip(header, *rows, strict=True):
        if title.startswith(_DRAWN) and any(cells):
            panels.append(BarPanel([row[0] for row in rows], [over_seeds(title, cells)], title))
    return panels


def _measured(seeds: Sequence[Seed]) -> Iterator[Measured]:
    """Distances after the last phase, accuracy of key-points, and the best order BLEU-2."""
    _, header, rows = table(seeds, "distances")
    for column, cell in zip(header, rows[-1], strict=True):
        if column.startswith("distance") and cell:
            yield Measured("C4", f"{column}, after {rows[-1][0]}", cell.mean)
    for name, code, column in (("keypoints", "C10", "accuracy"), ("order", "C13", "BLEU-2")):
        if name in seeds[0]:
            _, header, rows = table(seeds, name)
            for row in rows:
                if cell := row[header.index(column)]:
                    yield Measured(code, f"{column}, {row[0]}", cell.mean)
