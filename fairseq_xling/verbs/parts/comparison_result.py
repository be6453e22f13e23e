"""`fairseq-xling eval bli`, `tatoeba`, `cka`, `meanshift` and `aligned`: two folders by layer; and
`eval correlate`: two measures of them.

The measures have the same format, with their name in ``measure``; a further one in this format gets
a page without changes here, and a row and a source by an entry in ``SOURCES``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from fairseq_xling.results.charts import bars, curves, scatter
from fairseq_xling.results.frame import make_frame, split
from fairseq_xling.results.page import (
    Measured,
    Page,
    Result,
    Table,
    caption,
    join_results,
    sentence,
)
from fairseq_xling.results.plots import draw_heat_map
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

LAYER = "layer (0 = embedding output)"
_MOST_LINES = 6  # in one panel
_EMERGING = "Emerging Cross-lingual Structure (Conneau et al., 2020)"
_POINT = ("pair", "layer", "x", "y")
SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.2 and Figure 7"


class Source(NamedTuple):
    """Where the papers have a measure: row, paper, unit, its row on raw embeddings alone, and which
    of its values is the best."""

    row: str
    paper: str
    unit: str
    static: str = ""
    best: Callable[[Sequence[float]], float] = max


SOURCES = {
    "bli": Source("S5", f"{_EMERGING}, 5.1.1", "share of source words; MRR", static="S4"),
    "tatoeba": Source("S7", f"{_EMERGING}, 5.1.3", "P@1 (share of sentences)"),
    "cka": Source("S8", f"{_EMERGING}, 5.2 and Figure 7", "linear CKA (0 to 1)"),
    "meanshift": Source("S15", "Pires et al. (2019), 5", "accuracy (share of sentences)"),
    "aligned": Source(
        "T23", "TreLM (Li et al., 2021), Table 9", "mean squared distance, ratio", best=min
    ),
}


@KINDS.register("comparison")
class ComparisonPage:
    """Curves by layer, bars of a single layer, or the heat map of every layer with every other."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"measure", "layers", "curves", "headline", "folders"} <= record.keys()

    def page(self, result: Result) -> Page:
        name = result.record["measure"]
        known = SOURCES.get(name, Source("", f"the measure {name}", name))
        record = {"unit": known.unit, **result.record}
        facts = (f"Unit: {known.unit}.", *record["notes"])
        notes = caption(result, known.paper, *map(sentence, facts))
        sections = []
        tables: dict[str, Table] = {}
        if record["curves"]:
            header, rows = tables["layers"] = curve_table(record)
            figure = partial(draw_curves, record)
            sections.append(
                Section("By layer", figure=figure, header=header, rows=rows, notes=notes)
            )
        if record.get("matrix"):
            tables["matrix"] = matrix_table(record)
            figure = partial(draw_matrix, record)
            sections.append(Section("Every layer with every layer", figure=figure, notes=notes))
        details = [[key, _shown(value)] for key, value in record.get("details", {}).items()]
        if details:
            sections.append(Section("About", header=["what", "value"], rows=details))
        return Page(
            title=record["title"],
            source=known.paper,
            lead=[f"Compared: {' and '.join(record['folders'])}."],
            sections=sections,
            tables=tables,
            measured=_measured(record, known),
        )

    def join(self, results: Sequence[Result]) -> list[tuple[Result, Page]]:
        """A further page for each measure with several results of one curve."""
        groups: dict[tuple[str, str], list[Result]] = {}
        for result in results:
            record = result.record
            if record["curves"]:
                key = record["measure"], record["headline"]
                groups.setdefault(key, []).append(result)
        found = []
        for (name, _), many in groups.items():
            if len(many) > 1:
                known = SOURCES.get(name, Source("", f"the measure {name}", name))
                page = _join_page(name, known.paper, known.unit, many)
                found.append((join_results(name, many), page))
        return found


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_shown(one)}" for key, one in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def curve_table(record: Mapping[str, Any]) -> Table:
    """Figures by layer, and their means."""
    layers, curves = record["layers"], record["curves"]
    rows = [[layer, *(y[n] for y in curves.values())] for n, layer in enumerate(layers)]
    if len(rows) > 1:
        rows.append(["mean", *(record["means"][name] for name in curves)])
    return ["layer", *curves], rows


def matrix_table(record: Mapping[str, Any]) -> Table:
    """A row for each layer of X, a column for each of Y."""
    x, y = _sides(record)
    rows = [[n, *row] for n, row in zip(x, record["matrix"], strict=True)]
    return ["layer of X", *(f"Y {layer}" for layer in y)], rows


def draw_curves(record: Mapping[str, Any]) -> Figure:
    """Lines by layer, or bars of a single one."""
    found, unit, one_layer = record["curves"], record["unit"], len(record["layers"]) == 1
    panels = {unit: list(found)} if one_layer else record.get("panels") or _groups(list(found))
    frame = make_frame(
        (
            {"row": name, "measure": title, "layer": layer, "value": value}
            for title, names in panels.items()
            for name in names
            for layer, value in zip(record["layers"], found[name], strict=True)
        ),
        chance=record.get("chance"),
    )
    if one_layer:
        return bars(frame, unit)
    words = f"{record.get('chance_is', 'chance')} ({{:.3g}})"
    return curves(
        frame, unit, xlabel=LAYER, title=lambda rows: rows["measure"].iat[0], chance=words
    )


def draw_matrix(record: Mapping[str, Any]) -> Figure:
    """The heat map of every layer with every other."""
    source, _, target = record["pair"].partition("-")
    labels = [f"layer of Y ({target})", f"layer of X ({source})"]
    return draw_heat_map(record["matrix"], *_sides(record), *labels, record["unit"])


def _sides(record: Mapping[str, Any]) -> Sequence[Sequence[int]]:
    """The layers of X and Y; earlier records have all of them and do not say so."""
    matrix = record["matrix"]
    return record.get("matrix_layers") or [range(len(matrix)), range(len(matrix[0]))]


def _groups(names: Sequence[str]) -> dict[str, list[str]]:
    """The curves of each panel of an earlier record: all, or those that end in the same word."""
    if len(names) <= _MOST_LINES:
        return {"": list(names)}
    groups: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)]):
        groups.setdefault(name.rpartition(" ")[2], []).append(name)
    return groups


def _measured(record: Mapping[str, Any], known: Source) -> list[Measured]:
    row = (record["layers"] == [0] and known.static) or known.row
    values = record["curves"].get(record["headline"])
    if not row or not values:
        return []
    best = known.best(values)
    layer = record["layers"][values.index(best)]
    return [Measured(row, f"{record['headline']}, {record['pair']}, best layer {layer}", best)]


def _join_page(measure: str, source: str, unit: str, results: Sequence[Result]) -> Page:
    """A line for each result, its headline curve by layer (the paper, Figure 7)."""
    rows = []
    for result in results:
        record = result.record
        label, values = f"{result.name} ({record['pair']})", record["curves"][record["headline"]]
        rows += [[label, n, x] for n, x in zip(record["layers"], values, strict=True)]
    headline = results[0].record["headline"]
    header = ["results", "layer", headline]
    frame = make_frame(dict(zip(("row", "layer", "value"), row, strict=True)) for row in rows)
    means = [[label, sum(own["value"]) / len(own)] for label, own in split(frame, "row")]
    origin = join_results(measure, results)
    table: list[Any] = [[result.name, result.command] for result in results]
    return Page(
        title=f"{measure}, {headline}: {len(results)} results together",
        source=source,
        lead=["Each line is a file of results with its own page."],
        sections=[
            Section(
                "By layer",
                figure=partial(curves, frame, unit, xlabel=LAYER, title=headline),
                notes=caption(origin, source, f"Unit: {unit}."),
            ),
            Section("Means over layers", header=["results", f"mean {headline}"], rows=means),
            Section("Commands", header=["results", "made by"], rows=table),
        ],
        tables={"layers": (header, rows), "means": (["results", "mean"], means)},
    )


@KINDS.register("correlation")
class Correlation:
    """A point for each layer, a colour for each pair."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"measure", "correlations", "points", "x", "y"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header = ["pair", "points", "Pearson", "Spearman"]
        rows = [[one[name] for name in header] for one in record["correlations"]]
        points = record["points"]
        notes = caption(result, SOURCE, "A point is a layer, labelled with its number.")
        return Page(
            title=f"{record['x']} against {record['y']}",
            source=SOURCE,
            lead=["Do more similar layers also retrieve more translations?"],
            sections=[
                Section(
                    "Scatter plot",
                    figure=partial(draw_points, record),
                    notes=notes,
                ),
                Section("Correlation", header=header, rows=rows),
            ],
            tables={
                "correlations": (header, rows),
                "points": (_POINT, [[point[name] for name in _POINT] for point in points]),
            },
            measured=[
                Measured("S9", f"Pearson's correlation over layers, {one['pair']}", value)
                for one in record["correlations"]
                if (value := one["Pearson"]) is not None
            ],
        )


def draw_points(record: Mapping[str, Any]) -> Figure:
    """One measure against the other, a colour for each pair and a number for each layer."""
    frame = make_frame({**point, "value": point["y"]} for point in record["points"])
    return scatter(frame, record["x"], record["y"], x="x", group="pair", label="layer")
