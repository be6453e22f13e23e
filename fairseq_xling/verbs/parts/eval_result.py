"""`fairseq-xling eval`: figures by layer of one or more checkpoints.

Measures write a table in one of two layouts: columns ``pair`` and ``layer`` followed by figures, or
``language`` followed by figures. So a new measure automatically gets curves or bars.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.results.charts import bars, curves
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.frame import make_frame
from fairseq_xling.results.page import Measured, Page, Result, caption, sentence
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS

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
    """A panel for each column of figures; whole numbers are counts, and not drawn, nor is what the
    column of means sums up."""
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

    def chance(rows: pandas.DataFrame) -> str:
        return rows["chance_is"].iat[0]

    if "layer" in first["header"]:
        xlabel = "layer (0 = embedding output)"
        return partial(curves, frame, labels, xlabel=xlabel, chance=chance)
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


def _measured(called: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> Iterator[Measured]:
    for label, one in zip(called, entries, strict=True):
        for name, (row, key, words) in HEADLINES.items():
            for lang, scores in one["measures"].get(name, {}).get("scores", {}).items():
                if key in scores:
                    yield Measured(row, f"{words}, {lang}, {label}", scores[key])
