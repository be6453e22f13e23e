"""`fairseq-xling eval transfer` and `eval matrix`: trained on one language, tested on others.

Conneau et al. 2020, section 3.2; Pires et al. 2019, Tables 1 and 2; with shifted states Liu et al.
2020, section 4.3. Each head names its own row.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from fairseq_xling.results.figures import to_svg
from fairseq_xling.results.heat_map import draw_heat_map
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.plots import BarPanel, Bars, draw_bars
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.studies.pages.studies import parse_cell

SOURCE = "Emerging Cross-lingual Structure (Conneau et al., 2020), 3.2"
MATRIX = "Pires et al. (2019), Tables 1 and 2"
# trained on one language, tested on others: the row of each head's figure
ROWS = {
    "classification": "E2",
    "ner": "E3",
    "parsing": "E4",
    "srl": "E5",
    "span_qa": "E6",
    "multiple_choice": "E6",
}


@KINDS.register("transfer")
class Transfer:
    """Bars by language, a series for each encoder; a heat map of a matrix."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"metric", "header", "rows", "results"} <= record.keys()

    def page(self, result: Result) -> Page:
        record, config = result.record, result.record["config"]
        header, rows = record["header"], record["rows"]
        trained = {tuple(one["sources"]) for one in record["results"] if not one["how"]}
        matrix = len(trained) > 1
        source = MATRIX if matrix else SOURCE
        metric = record["metric"]
        facts = (
            f"Head {config['head']}, {metric} {'as a share' if matrix else 'in percent'}.",
            seeds_in_words(config["seeds"], whiskers=not matrix),
        )
        notes = caption(result, source, *facts)
        figure = (_heat if matrix else _bars)(header, rows, metric)
        sections = [
            Section(f"{metric} by language", svg=to_svg(figure), notes=notes),
            Section("Table", header=header, rows=rows, notes=record["notes"]),
        ]
        if alphas := _alphas(record["results"]):
            sections.append(Section("Chosen shifts", header=alphas[0], rows=alphas[1]))
        return Page(
            title=record["title"],
            source=source,
            lead=[
                "Epochs and settings were selected on the source language's dev file alone; the "
                "test files were read only afterwards."
            ],
            sections=sections,
            tables={"table": (header, rows), "scores": _scores(record["results"])},
            measured=list(_measured(record, matrix)),
        )


def _languages(header: Sequence[str]) -> list[str]:
    return [name for name in header[1:] if name not in ("mean of targets", "gap")]


def _bars(header: Sequence[str], rows: Sequence[Sequence[Any]], metric: str) -> Figure:
    languages = _languages(header)
    series = []
    for row in rows:
        cells = [parse_cell(row[header.index(lang)]) for lang in languages]
        values = [cell and cell[0] for cell in cells]
        series.append(Bars(row[0], values, [cell and cell[1] for cell in cells]))
    return draw_bars([BarPanel(languages, series, f"{metric} (%)")])


def _heat(header: Sequence[str], rows: Sequence[Sequence[Any]], metric: str) -> Figure:
    languages = _languages(header)
    cells = [[parse_cell(row[header.index(lang)]) for lang in languages] for row in rows]
    shares = [[math.nan if cell is None else cell[0] / 100 for cell in line] for line in cells]
    names = [row[0] for row in rows]
    return draw_heat_map(shares, names, languages, "tested on", "trained on", f"{metric} (share)")


def _alphas(results: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]] | None:
    rows = [
        [one["encoder"], test["seed"], lang, shifted["alpha"]]
        for one in results
        for test in one["tests"]
        for lang, shifted in test.get("shifted", {}).items()
    ]
    return (["encoder", "seed", "language", "alpha"], rows) if rows else None


def _scores(results: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    header = ["encoder", "trained on", "how", "shifted", "setting", "seed", "language", "figure"]
    found = []
    for one in results:
        for test in one["tests"]:
            moved = {lang: shifted["scores"] for lang, shifted in test.get("shifted", {}).items()}
            for state, by_language in (("no", test["scores"]), ("yes", moved)):
                for lang, scores in by_language.items():
                    about = [one["encoder"], "+".join(one["sources"]), one["how"], state]
                    about += [test["setting"], test["seed"], lang]
                    found += [[*about, name, value] for name, value in scores.items()]
    return [*header, "value"], found


def _measured(record: Mapping[str, Any], matrix: bool) -> Iterator[Measured]:
    metric, head = record["metric"], record["config"]["head"]
    place = record["header"].index("mean of targets")
    for row in record["rows"]:
        if (found := parse_cell(row[place])) is None:
            continue
        what = f"zero-shot {metric} (%), mean of the target languages, {row[0]}"
        if matrix:
            yield Measured("E7", what, found[0])
        elif head in ROWS:
            yield Measured(ROWS[head], what, found[0])
    for one in record["results"]:
        gains = [
            shifted["scores"][metric] - test["scores"][lang][metric]
            for test in one["tests"]
            for lang, shifted in test.get("shifted", {}).items()
        ]
        if gains:
            what = f"gain in {metric} (points) by shifted states, {one['encoder']}"
            yield Measured("S14", what, statistics.fmean(gains))
