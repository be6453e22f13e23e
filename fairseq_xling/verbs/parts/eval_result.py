"""`fairseq-xling eval`: figures by layer of one or more checkpoints.

Measures write a table in one of two layouts: columns ``pair`` and ``layer`` followed by figures, or
``language`` followed by figures. So a new measure automatically gets curves or bars.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption, sentence
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

LAYER = "layer (0 = embedding output)"
# measure: where the paper has it; the row, the column and words for the index
SOURCES = {
    "retrieval": "Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1.3, without a map",
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
            header = ["checkpoint", *next(iter(found.values()))["header"]]
            rows = [[label, *row] for label, one in found.items() for row in one["rows"]]
            tables[name] = header, rows
            about = next(iter(found.values()))
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
            measured=list(_measured(called, entries)),
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
    """A panel for each column of figures; whole numbers are counts, and not drawn."""
    first = next(iter(found.values()))
    header, unit = first["header"], UNITS.get(measure, "")
    floats = [any(isinstance(row[i], float) for row in first["rows"]) for i in range(len(header))]
    figures = [name for name, drawn in zip(header, floats, strict=True) if drawn]
    references = [name for name in figures if name.startswith(_CHANCE)]
    panel = _lines if "layer" in header else _bars
    made = []
    for name in figures:
        if name not in references:  # `chance MRR` is the reference of `MRR` alone
            own = [x for x in references if x in (f"chance {name}", "chance", "uniform model")]
            made.append(panel(found, header, name, unit, own[0] if own else None))
    return partial(draw if "layer" in header else draw_bars, made)


def _lines(
    found: Mapping[str, Any], header: Sequence[str], name: str, unit: str, chance: str | None
) -> Panel:
    lines = []
    for label, one in found.items():
        for pair in dict.fromkeys(row[0] for row in one["rows"]):
            rows = [row for row in one["rows"] if row[0] == pair]
            x = [row[header.index("layer")] for row in rows]
            y = [row[header.index(name)] for row in rows]
            words = pair if len(found) == 1 else f"{label}, {pair}"
            lines.append(Line(words, x, y, len(lines)))
    dotted = _reference(found, header, chance)
    return Panel(lines, xlabel=LAYER, ylabel=f"{unit}{name}", chance=dotted, whole=True)


def _bars(
    found: Mapping[str, Any], header: Sequence[str], name: str, unit: str, chance: str | None
) -> BarPanel:
    place = header.index(name)
    names = list(dict.fromkeys(row[0] for one in found.values() for row in one["rows"]))
    series = []
    for label, one in found.items():
        values = {row[0]: row[place] for row in one["rows"]}
        series.append(Bars(label, [values.get(lang) for lang in names]))
    return BarPanel(names, series, f"{unit}{name}", chance=_reference(found, header, chance))


def _reference(
    found: Mapping[str, Any], header: Sequence[str], chance: str | None
) -> tuple[float, str] | None:
    """The chance level, if it is one number for all."""
    if chance is None:
        return None
    place = header.index(chance)
    values = {row[place] for one in found.values() for row in one["rows"]}
    return (values.pop(), chance) if len(values) == 1 else None


def _measured(called: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Measured]:
    for label, one in zip(called, entries, strict=True):
        for name, (row, key, words) in HEADLINES.items():
            for lang, scores in one["measures"].get(name, {}).get("scores", {}).items():
                if key in scores:
                    yield Measured(row, f"{words}, {lang}, {label}", scores[key])
