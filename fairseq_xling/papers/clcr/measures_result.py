"""The results of `clcr curves`, `keypoints`, `order`, `report` and `show`, and of studies that
`examples/clcr/gather.py` puts together: pages and figures.

Figures are drawn from the records alone.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase

from fairseq_xling.papers.clcr.conditions import BETWEEN, CHANGES
from fairseq_xling.results.charts import dots
from fairseq_xling.results.figures import COLOURS, Line, Panel, draw, new_figure, styled
from fairseq_xling.results.frame import listed
from fairseq_xling.results.page import (
    Measured,
    Page,
    Result,
    Table,
    caption,
    seeds_in_words,
    sentence,
)
from fairseq_xling.results.paper import points, side_by_side
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars, draw_cells
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.results.statistics import mean_and_spread

CLASSIFIERS = ("plain", "confident")  # of key-points, from top to bottom
_AXES = {"distance": "D", "relative": "D / spread of the target's states"}
_COLUMN, _ROW = 0.5, 0.42  # inches of a cell
_LEAST = 4
Curve = Sequence[tuple[int, float]]  # (step, value), steps increase


class MeasureKind:
    """A kind whose record says in ``clcr`` what it is."""

    clcr: str
    source: str

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return record.get("clcr") == self.clcr


@KINDS.register("clcr-curves")
class ClcrCurves(MeasureKind):
    """Curves by step, and the distances at the end."""

    clcr, source = "curves", "CLCR, 3.1, Table 1 and Figure 1"

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], list(record["rows"])
        notes = caption(result, self.source, *map(sentence, record["notes"]))
        figure = partial(draw_curves, record)
        every = [
            [one["name"], number, column(name), step, value]
            for number, one in enumerate(record["trainings"], start=1)
            for name, curve in one["curves"].items()
            for step, value in curve
        ]
        return Page(
            title=record["title"],
            source=self.source,
            lead=["D is the mean distance of a transformed sentence and its translation."],
            sections=[
                Section("Distance by step", figure=figure, notes=notes),
                Section("At the end", header=header, rows=rows),
            ],
            tables={
                "table": (header, rows),
                "curves": (["training", "number", "figure", "step", "value"], every),
            },
            measured=[
                Measured("C4", f"{column(name)} at the end, {one['name']}", curve[-1][1])
                for one in record["trainings"]
                for name, curve in one["curves"].items()
                if name.startswith("distance ")
            ],
        )


def curves_table(record: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The last value of every curve: a row for each name, its seeds put together."""
    names = list(record["trainings"][0]["curves"])
    rows: list[list[Any]] = []
    for title, own in _by_name(record).items():
        ends = [[one["curves"][name][-1][1] for one in own] for name in names]
        steps = max(one["curves"][names[0]][-1][0] for one in own)
        rows.append([title, len(own), steps, *(mean_and_spread(end, 3) for end in ends)])
    return ["training", "seeds", "steps", *map(column, names)], rows


def column(name: str) -> str:
    """How a figure is called in a table.

    >>> column("distance en-de"), column("relative de-en")
    ('D en-de', 'relative de-en')
    """
    return name.replace("distance", "D")


def draw_curves(record: Mapping[str, Any]) -> Any:
    """A panel for each figure, a line for each name: the mean of its seeds at the steps that all
    of them have."""
    panels = []
    for name in record["trainings"][0]["curves"]:
        lines = []
        for style, (title, own) in enumerate(_by_name(record).items()):
            points = mean_curve([one["curves"][name] for one in own])
            if points:
                lines.append(
                    Line(title, *map(list, zip(*points, strict=True)), style, len(points) < 30)
                )
        kind, _, pair = name.partition(" ")
        chance = (1.0, "chance") if kind == "relative" else None
        panels.append(Panel(lines, "step", _AXES[kind], pair.replace("-", " to "), chance=chance))
    return draw(panels)


def mean_curve(curves: Sequence[Curve]) -> list[tuple[int, float]]:
    """The mean at the steps that all have.

    >>> mean_curve([[(1, 2.0), (2, 1.0)], [(1, 4.0), (3, 0.0)]])
    [(1, 3.0)]
    """
    values = [dict(map(tuple, curve)) for curve in curves]  # type: ignore[arg-type]
    steps = sorted(set.intersection(*(set(one) for one in values)))
    return [(step, statistics.fmean(one[step] for one in values)) for step in steps]


def _by_name(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in record["trainings"]:
        found.setdefault(one["name"], []).append(one)
    return found


@KINDS.register("clcr-keypoints")
class ClcrKeypoints(MeasureKind):
    """Bars of accuracy, precision and recall, a group for each language and threshold."""

    clcr, source = "keypoints", "CLCR, 3.2 and Table 2"

    def page(self, result: Result) -> Page:
        return _bars_page(
            result,
            self.source,
            lead="How accurately words of a sentence are classified as key-points.",
            section="Shares",
            names=[f"{row[0]}, delta {row[1]}" for row in result.record["rows"]],
            columns=("accuracy", "precision", "recall"),
            axis="share of words",
            measured=("C10", "accuracy of key-points"),
        )


@KINDS.register("clcr-order")
class ClcrOrder(MeasureKind):
    """Bars of the precision of n-grams, a group for each head and search."""

    clcr, source = "order", "CLCR, 3.3 and Table 3"

    def page(self, result: Result) -> Page:
        record = result.record
        columns = [name for name in record["header"] if name.startswith("BLEU-")]
        return _bars_page(
            result,
            self.source,
            lead="Key-points are put into the order of the second language, and compared with the "
            "gold order.",
            section="Order BLEU",
            names=[f"{row[0]} {row[1]}".strip() for row in record["rows"]],
            columns=columns,
            axis="precision of n-grams (share)",
            measured=("C13", f"order {columns[0]} of {record['pair']}"),
        )


def _bars_page(
    result: Result,
    source: str,
    *,
    lead: str,
    section: str,
    names: Sequence[str],
    columns: Sequence[str],
    axis: str,
    measured: tuple[str, str],
) -> Page:
    """The table of a record, with a group of bars for each row.

    Args:
        names: of the rows; columns: those that are drawn.
        measured: row of the specification, and what the first of ``columns`` is called.
    """
    record = result.record
    header, rows = list(record["header"]), list(record["rows"])
    series = [Bars(name, [row[header.index(name)] for row in rows]) for name in columns]
    figure = partial(draw_bars, [BarPanel(names, series, axis)])
    notes = caption(result, source, *map(sentence, record["notes"]))
    code, what = measured
    return Page(
        title=record["title"],
        source=source,
        lead=[lead],
        sections=[Section(section, figure=figure, header=header, rows=rows, notes=notes)],
        tables={"table": (header, rows)},
        measured=[
            Measured(code, f"{what}, {name}", value)
            for name, value in zip(names, series[0].values, strict=True)
            if value is not None
        ],
    )


@KINDS.register("clcr-report")
class ClcrReport(MeasureKind):
    """Histograms of the distances, and the distance by score."""

    clcr, source = "conditions", "CLCR, 2.1"

    def page(self, result: Result) -> Page:
        record = result.record
        notes = caption(result, self.source, *map(sentence, record["notes"]))
        header, rows = record["header"], list(record["rows"])
        figure = partial(draw_report, record)
        sections = [Section("Distances", figure=figure, header=header, rows=rows, notes=notes)]
        tables = {"table": (header, rows), "histogram": _histogram(record)}
        if contexts := record.get("contexts"):
            columns, lines = tables["contexts"] = _context_table(contexts)
            title, text = "A token in its context", "Mean distance that the vector of a word moves."
            sections.append(Section(title, text, header=columns, rows=lines))
        return Page(
            title=record["title"],
            source=self.source,
            lead=[f"Compared: {' and '.join(record['folders'])}."],
            sections=sections,
            tables=tables,
            measured=list(_measured_report(record)),
        )


def _histogram(record: Mapping[str, Any]) -> Table:
    rows = [
        [name, low, high, near, far]
        for name, one in record["distances"].items()
        for low, high, near, far in zip(
            one["edges"][:-1],
            one["edges"][1:],
            one["translations"]["histogram"],
            one["random"]["histogram"],
            strict=True,
        )
    ]
    return ["distance", "from", "to", "translations", "random pairs"], rows


def _measured_report(record: Mapping[str, Any]) -> Iterator[Measured]:
    pair = record["pair"]
    for name, one in record["distances"].items():
        what = f"{name}: random pairs farther apart than translations (AUC), {pair}"
        yield Measured("C1", what, one["auc"])
        if one.get("spearman") is not None:
            yield Measured("C1", f"{name}: Spearman of distance and score", one["spearman"])


@styled
def draw_report(record: Mapping[str, Any]) -> Figure:
    """For each kind of distance, the distances of translations and of random pairs; below, if
    there are scores, the mean distance by score."""
    ways = record["distances"]
    scored = any(one.get("by_score") for one in ways.values())
    rows = 2 if scored else 1
    figure = new_figure((4.6 * len(ways), 3.3 * rows))
    axes = figure.subplots(rows, len(ways), squeeze=False)
    for column, (name, one) in enumerate(ways.items()):
        _histograms(axes[0, column], name, one)
        if scored:
            _by_score(axes[1, column], one["by_score"])
    return figure


def _histograms(axis: Axes, name: str, one: Mapping[str, Any]) -> None:
    kinds = (("translations", COLOURS[0], ""), ("random", COLOURS[1], "//"))
    for kind, colour, hatch in kinds:
        counts = one[kind]["histogram"]
        shares = [count / one[kind]["pairs"] for count in counts]
        label = kind if kind == "translations" else "random pairs"
        axis.stairs(
            shares, one["edges"], fill=True, color=colour, alpha=0.45, hatch=hatch, label=label
        )
    title = f"{name}, AUC {one['auc']:.3f}"
    axis.set(xlabel="distance", ylabel="share of pairs", title=title)
    axis.legend(fontsize=points(8), framealpha=0.9)


def _by_score(axis: Axes, points: Sequence[Sequence[float]]) -> None:
    axis.plot(*zip(*points, strict=True), "o-", color=COLOURS[2])
    axis.set(xlabel="score, mean of each fifth", ylabel="mean distance")
    axis.set_ylim(bottom=0)


def _context_table(found: Mapping[str, Any]) -> Table:
    """How far a vector moves by language and change, with the distance of two words."""
    header = ["language", "sentences", *CHANGES, BETWEEN, *(f"{c} / {BETWEEN}" for c in CHANGES)]
    rows = [
        [
            *(lang, one["sentences"], *(one[name] for name in (*CHANGES, BETWEEN))),
            *(one[name] / one[BETWEEN] if one[BETWEEN] else None for name in CHANGES),
        ]
        for lang, one in found.items()
    ]
    return header, rows


@KINDS.register("clcr")
class ClcrGathered(MeasureKind):
    """The tables of a study that a script of `examples/clcr` gathered."""

    clcr, source = "study", "CLCR, Tables 1 to 4"

    def page(self, result: Result) -> Page:
        record, frame = result.record, result.frame
        seeds = record["config"]["seeds"]
        first = frame[frame["table"] == frame["table"].iat[0]]
        measure = first["measure"].iat[0]
        about = caption(result, self.source, seeds_in_words(seeds, "dots"))
        figure = partial(dots, first[first["measure"] == measure], measure, title="")
        drawn = Section(f"{measure}: single seeds", figure=figure, notes=about)
        sections = [
            Section(
                table["title"],
                header=table["header"],
                rows=table["rows"],
                notes=[
                    *map(sentence, table["notes"]),
                    *caption(result, self.source, seeds_in_words(seeds, "")),
                ],
            )
            for table in record["tables"]
        ]
        return Page(
            title="CLCR: every table of a study",
            source=self.source,
            lead=[f"To English from {record['config']['languages']}."],
            sections=[*sections, drawn],
            tables={"measured": listed(frame, list(frame.columns))},
        )


@KINDS.register("clcr-show")
class ClcrShow(MeasureKind):
    """Words with p(key-point), and heat maps of the order heads."""

    clcr, source = "show", "CLCR, Figures 2 and 3"

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = list(record["header"]), list(record["rows"])
        notes = caption(result, self.source, *map(sentence, record["notes"]))
        words = partial(draw_words, record)
        sections = [Section("Key-points", figure=words, header=header, rows=rows, notes=notes)]
        for maps in by_direction(record):
            title = f"Order: {maps[0]['direction']}"
            sections.append(Section(title, figure=partial(draw_maps, maps), notes=notes))
        return Page(
            title=record["title"],
            source=self.source,
            lead=["One sentence pair, its key-points, and the scores of its order."],
            sections=sections,
            tables={"table": (header, rows)},
        )


@styled
def draw_sentence(record: Mapping[str, Any]) -> Figure:
    """Words, and below them the heat maps of each direction."""
    parts = [(words_size(record), draw_words, record)]
    parts += [(maps_size(maps), draw_maps, maps) for maps in by_direction(record)]
    heights = [size[1] for size, *_ in parts]
    figure = new_figure((max(size[0] for size, *_ in parts), sum(heights)))
    places = figure.subfigures(len(parts), 1, squeeze=False, height_ratios=heights)
    for (_, paint, drawn), place in zip(parts, places[:, 0], strict=True):
        paint(drawn, place)
    figure.suptitle(record["title"])
    return figure


def by_direction(record: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The heat maps of the record, those of one direction together."""
    return [list(group) for _, group in groupby(record["maps"], lambda one: one["direction"])]


def words_size(record: Mapping[str, Any]) -> tuple[float, float]:
    """Width and height of `draw_words`, in inches."""
    longest = max(_LEAST, *(len(one["words"]) for one in record["words"]))
    return 2.6 + _COLUMN * longest, 2.2 * len(record["words"])


@styled
def draw_words(record: Mapping[str, Any], on: FigureBase | None = None) -> FigureBase:
    """Each language's words with p(key-point) by classifier (CLCR, Figure 2)."""
    figure = new_figure(words_size(record)) if on is None else on
    axes = figure.subplots(len(record["words"]), 1, squeeze=False)[:, 0]
    for axis, one in zip(axes, record["words"], strict=True):
        names = [
            f"{word} *" if pivot else word
            for word, pivot in zip(one["words"], one["pivots"], strict=True)
        ]
        kinds = [kind for kind in CLASSIFIERS if kind in one["p"]]
        values = [one["p"][kind] for kind in kinds]
        draw_cells(axis, values, kinds, names, "p(key-point)", downwards=True)
        delta = f"kept above {record['delta']:g}"
        axis.set_title(f"key-points of {one['lang']} ({delta}; * pivot)", fontsize=points(10))
    return figure


def maps_size(maps: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Width and height of `draw_maps`, in inches."""
    count = max(_LEAST, len(maps[0]["words"]))
    columns = _columns(maps)
    rows = -(-len(maps) // columns)
    return columns * (2.6 + _COLUMN * count), rows * (1.9 + _ROW * count)


def _columns(maps: Sequence[Mapping[str, Any]]) -> int:
    """Two, where words have room for their letters."""
    return side_by_side(2, least=2.2 + 0.16 * len(maps[0]["words"]))


@styled
def draw_maps(maps: Sequence[Mapping[str, Any]], on: FigureBase | None = None) -> FigureBase:
    """For each head the gold matrix on the left, its own on the right (CLCR, Figure 3)."""
    figure = new_figure(maps_size(maps)) if on is None else on
    columns = _columns(maps)
    axes = figure.subplots(-(-len(maps) // columns), columns, squeeze=False)
    for axis, one in zip(axes.flat, maps, strict=False):
        words = one["words"]
        columns = words if one["pairs"] else range(1, len(words) + 1)
        whole = all(value == round(value) for row in one["matrix"] for value in row)
        draw_cells(
            axis,
            one["matrix"],
            words,
            columns,
            one["what"],
            scale=tuple(one["scale"]),
            whole=whole,
            downwards=True,
        )
        axis.set_title(f"{one['head']}: {one['title']}\n{one['direction']}", fontsize=points(10))
        axis.set_ylabel("key-point")
        axis.set_xlabel("key-point" if one["pairs"] else "position")
    return figure


def words_table(words: Sequence[Mapping[str, Any]]) -> Table:
    """The words of a sentence pair, a row each."""
    header = ["language", "place", "word", *(f"p {kind}" for kind in CLASSIFIERS), "pivot"]
    rows = [
        [
            *(one["lang"], place, word),
            *(one["p"][kind][place - 1] if kind in one["p"] else None for kind in CLASSIFIERS),
            "*" if one["pivots"][place - 1] else "",
        ]
        for one in words
        for place, word in enumerate(one["words"], start=1)
    ]
    return header, rows
