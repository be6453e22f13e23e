"""The results of `fairseq-xling eval`: figures by layer of one or more checkpoints; of `eval bli`,
`tatoeba`, `cka`, `meanshift` and `aligned`: two folders by layer; and of `eval correlate`: two
measures of them.

Measures of a checkpoint write a table in one of two layouts: columns ``pair`` and ``layer``
followed by figures, or ``language`` followed by figures. So a new measure automatically gets curves
or bars. Those of two folders have the same format, with their name in ``measure``; a further one
gets a page without changes here, and a row and a source by an entry in `COMPARED`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.page import (
    Measured,
    Page,
    Result,
    Table,
    caption,
    join_results,
    sentence,
)
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

LAYER = "layer (0 = embedding output)"
_EMERGING = "Emerging Cross-lingual Structure (Conneau et al., 2020)"

# measure: where the paper has it; the row, the column and words for the index
SOURCES = {
    "retrieval": f"{_EMERGING}, 5.1.3, without a map",
    "words": "Liu et al. (2020), 3.1.1",
    "bpw": "TreLM (Li et al., 2021), A.7",
    "langmass": "Liu et al. (2020), 4.1",
}
# measure: what its figures are, before their column's own name
UNITS = {"retrieval": "sentence P@1 (share), ", "words": "word retrieval, ", "langmass": "mass, "}
HEADLINES = {
    "retrieval": ("S7", "retrieval", "sentence P@1 without a map, best layer"),
    "words": ("S16", "word_mrr", "word MRR, best layer"),
    "bpw": ("T17", "bpw", "bits per word"),
    "langmass": ("S13", "langmass_others", "mass on words of other languages (share)"),
}
# prefixes of columns with chance levels
_CHANCE = ("chance", "uniform model")
# Columns that the column "mean" sums up: their figures would be all but the same one.
_AVERAGED = ("forward", "backward")


@KINDS.register("evaluation")
class Evaluation:
    """A panel for each figure, a line for each checkpoint and pair; bars if there is no layer."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        results = record.get("results")
        if not isinstance(results, list) or "header" in record:
            return False
        return any("measures" in one for one in results)

    def page(self, result: Result) -> Page:
        entries = result.record["results"]
        names = list(dict.fromkeys(name for one in entries for name in one["measures"]))
        sections, tables = [], {}
        called = _short([one["checkpoint"] for one in entries])
        for name in names:
            found = {
                label: one["measures"][name]
                for label, one in zip(called, entries, strict=True)
                if name in one["measures"]
            }
            about = next(iter(found.values()))
            header = ["checkpoint", *about["header"]]
            rows = [[label, *row] for label, one in found.items() for row in one["rows"]]
            tables[name] = header, rows
            said = map(sentence, about["notes"])
            notes = caption(result, SOURCES.get(name, f"the measure {name}"), *said)
            figure = _figure(name, found)
            sections.append(Section(about["title"], "", figure, header, rows, notes=notes))
        return Page(
            title="Measures of " + ", ".join(called),
            source="; ".join(SOURCES[name] for name in names if name in SOURCES),
            lead=[f"Checkpoints: {', '.join(one['checkpoint'] for one in entries)}."],
            sections=sections,
            tables=tables,
            measured=list(_headlines(called, entries)),
        )


def _short(paths: Sequence[str]) -> list[str]:
    """Names that distinguish files: what differs from the others, else the file's folder."""
    parts = [Path(path).parts for path in paths]
    if len(parts) == 1:
        return ["/".join(parts[0][-2:])]
    most = max(map(len, parts))
    for keep in range(1, most + 1):
        names = ["/".join(part[-keep:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(paths)


def _figure(measure: str, found: Mapping[str, Mapping[str, Any]]) -> Drawing:
    """A panel for each column of figures; whole numbers are counts, and not drawn, nor is what the
    column of means sums up."""
    from fairseq_xling.results.charts import bars, curves
    from fairseq_xling.results.frame import make_frame

    first = next(iter(found.values()))
    left_out = _AVERAGED if "mean" in first["header"] else ()
    drawn = [
        name
        for n, name in enumerate(first["header"])
        if name not in left_out and any(isinstance(row[n], float) for row in first["rows"])
    ]
    frame = make_frame(
        one for name in drawn if not name.startswith(_CHANCE) for one in _rows(found, name, drawn)
    )
    labels = {name: f"{UNITS.get(measure, '')}{name}" for name in drawn}

    def chance(rows: "pandas.DataFrame") -> str:
        return rows["chance_is"].iat[0]

    if "layer" in first["header"]:
        return partial(curves, frame, labels, xlabel=LAYER, chance=chance)
    return partial(bars, frame, labels, series="row", row="place", chance=chance)


def _rows(
    found: Mapping[str, Mapping[str, Any]], name: str, drawn: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The figure ``name`` by place and layer, with its chance level if that is one number for all;
    `chance MRR` is that of `MRR` alone."""
    tables = {
        label: [dict(zip(one["header"], row, strict=True)) for row in one["rows"]]
        for label, one in found.items()
    }
    known = (x for x in drawn if x in (f"chance {name}", *_CHANCE))
    chance_is = next(known, "")
    levels = {row[chance_is] for rows in tables.values() for row in rows} if chance_is else ()
    about = {"chance": next(iter(levels)) if len(levels) == 1 else None, "chance_is": chance_is}
    for label, rows in tables.items():
        for row in rows:
            place, layer = next(iter(row.values())), row.get("layer")
            words = label
            if layer is not None:
                words = place if len(found) == 1 else f"{label}, {place}"
            named = {"row": words, "place": place, "layer": layer, "measure": name}
            yield {**named, "value": row[name], **about}


def _headlines(called: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Measured]:
    for label, one in zip(called, entries, strict=True):
        for name, (row, key, words) in HEADLINES.items():
            for lang, scores in one["measures"].get(name, {}).get("scores", {}).items():
                if key in scores:
                    yield Measured(row, f"{words}, {lang}, {label}", scores[key])


class Source(NamedTuple):
    """Where the papers have a measure: row, paper, unit, its row on raw embeddings alone, and which
    of its values is the best."""

    row: str
    paper: str
    unit: str
    static: str = ""
    best: Callable[[Sequence[float]], float] = max


COMPARED = {
    "bli": Source("S5", f"{_EMERGING}, 5.1.1", "share of source words; MRR", static="S4"),
    "tatoeba": Source("S7", f"{_EMERGING}, 5.1.3", "P@1 (share of sentences)"),
    "cka": Source("S8", f"{_EMERGING}, 5.2 and Figure 7", "linear CKA (0 to 1)"),
    "meanshift": Source("S15", "Pires et al. (2019), 5", "accuracy (share of sentences)"),
    "aligned": Source(
        "T23", "TreLM (Li et al., 2021), Table 9", "mean squared distance, ratio", best=min
    ),
}


def _source(measure: str) -> Source:
    return COMPARED.get(measure, Source("", f"the measure {measure}", measure))


@KINDS.register("comparison")
class ComparisonPage:
    """Curves by layer, bars of a single layer, or the heat map of every layer with every other."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"measure", "layers", "curves", "headline", "folders"} <= record.keys()

    def page(self, result: Result) -> Page:
        record, known = result.record, _source(result.record["measure"])
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
                page = _join_page(name, _source(name), many)
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
    x, y = record["matrix_layers"]
    rows = [[n, *row] for n, row in zip(x, record["matrix"], strict=True)]
    return ["layer of X", *(f"Y {layer}" for layer in y)], rows


def draw_curves(record: Mapping[str, Any]) -> "Figure":
    """Lines by layer, or bars of a single one."""
    from fairseq_xling.results.charts import bars, curves
    from fairseq_xling.results.frame import make_frame

    found, unit, one_layer = record["curves"], record["unit"], len(record["layers"]) == 1
    panels = {unit: list(found)} if one_layer else record["panels"]
    frame = make_frame(
        (
            {"row": name, "measure": title, "layer": layer, "value": value}
            for title, names in panels.items()
            for name in names
            for layer, value in zip(record["layers"], found[name], strict=True)
        ),
        chance=record["chance"],
    )
    if one_layer:
        return bars(frame, unit)
    words = f"{record['chance_is']} ({{:.3g}})"
    return curves(
        frame, unit, xlabel=LAYER, title=lambda rows: rows["measure"].iat[0], chance=words
    )


def draw_matrix(record: Mapping[str, Any]) -> "Figure":
    """The heat map of every layer with every other."""
    from fairseq_xling.results.plots import draw_heat_map

    source, _, target = record["pair"].partition("-")
    labels = [f"layer of Y ({target})", f"layer of X ({source})"]
    return draw_heat_map(record["matrix"], *record["matrix_layers"], *labels, record["unit"])


def _measured(record: Mapping[str, Any], known: Source) -> list[Measured]:
    row = (record["layers"] == [0] and known.static) or known.row
    values = record["curves"].get(record["headline"])
    if not row or not values:
        return []
    best = known.best(values)
    layer = record["layers"][values.index(best)]
    return [Measured(row, f"{record['headline']}, {record['pair']}, best layer {layer}", best)]


def _join_page(measure: str, known: Source, results: Sequence[Result]) -> Page:
    """A line for each result, its headline curve by layer (the paper, Figure 7)."""
    from fairseq_xling.results.charts import curves
    from fairseq_xling.results.frame import make_frame, split

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
        source=known.paper,
        lead=["Each line is a file of results with its own page."],
        sections=[
            Section(
                "By layer",
                figure=partial(curves, frame, known.unit, xlabel=LAYER, title=headline),
                notes=caption(origin, known.paper, f"Unit: {known.unit}."),
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
        points, source = record["points"], f"{_EMERGING}, 5.2 and Figure 7"
        columns = ("pair", "layer", "x", "y")
        notes = caption(result, source, "A point is a layer, labelled with its number.")
        return Page(
            title=f"{record['x']} against {record['y']}",
            source=source,
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
                "points": (columns, [[point[name] for name in columns] for point in points]),
            },
            measured=[
                Measured("S9", f"Pearson's correlation over layers, {one['pair']}", value)
                for one in record["correlations"]
                if (value := one["Pearson"]) is not None
            ],
        )


def draw_points(record: Mapping[str, Any]) -> "Figure":
    """One measure against the other, a colour for each pair and a number for each layer."""
    from fairseq_xling.results.charts import scatter
    from fairseq_xling.results.frame import make_frame

    frame = make_frame({**point, "value": point["y"]} for point in record["points"])
    return scatter(frame, record["x"], record["y"], x="x", group="pair", label="layer")
