"""The result of `fairseq-xling probe`: what the states of spans in a frozen encoder tell."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.plots import BarPanel, draw_bars, over_seeds
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds, read_cell
from fairseq_xling.results.tables import text_table

SOURCE = "CLCR, Tables 5 and 6"
_FIGURES = ("precision", "recall", "f1")
_LONG = ["probe", "seed", "file", "language", *_FIGURES, "right", "predicted", "gold"]

Scores = Sequence[Mapping[str, Any]]  # one for each probe and seed


def write_table(
    output: Path,
    tested: Mapping[str, str],
    baseline: Mapping[str, Mapping[str, Any]],
    probes: Scores,
    inputs: Mapping[str, Path],
    missing: str = "are beyond the model's positions or contain no letter",
    row: str = "E8",
) -> None:
    """Record the probes in ``output`` with the page, tables and figure of them; print the table.

    Args:
        tested: the language of each test file, by its name.
        baseline: F1 of the most frequent label, by file.
        inputs: files that they were made from, by role.
        missing: why examples have no vectors.
        row: of the specification, for the index.
    """
    scored = [name for name in tested if name in baseline]
    columns = [f"{shown(tested, x)} {name}" for x in scored for name in ("P", "R", "F1")]
    header = ["probe", "dev F1", *columns]
    always: list[Any] = [f"always {baseline['valid']['label']}"]
    always.append(_percent([baseline["valid"]["f1"]]))
    rows = [always + [x for file in scored for x in (None, None, _percent([baseline[file]["f1"]]))]]
    for variant in dict.fromkeys(one["variant"] for one in probes):
        own = [one for one in probes if one["variant"] == variant]
        cells = [_percent(_values(own, x, name)) for x in scored for name in _FIGURES]
        rows.append([variant, _percent(_values(own, "valid", "f1")), *cells])
    seeds = sorted({one["options"]["seed"] for one in probes})
    notes = [f"micro precision, recall and F1 in percent; seeds {', '.join(map(str, seeds))}"]
    notes += _notes(probes, missing)
    record = {"header": header, "rows": rows, "tested": dict(tested), "baseline": baseline}
    record |= {"probes": list(probes), "notes": notes, "row": row}
    write_results(Probing, output, record, inputs)
    print(text_table(header, rows))
    print("\n".join(f"({note})" for note in notes))
    print(f"written to {output}: results.json, report.html, table.csv, plot.svg, predictions/")


@KINDS.register("probing")
class Probing(Kind):
    """F1 by layer; bars for a single layer, or a mixture."""

    name = "probing"

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"probes", "baseline", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        probes, tested = record["probes"], record.get("tested", {})
        header, rows = record["header"], [list(map(read_cell, row)) for row in record["rows"]]
        layers = sorted({one["layers"][0] for one in probes if len(one["layers"]) == 1})
        files = sorted(probes[0]["scores"], key="valid".__ne__)  # dev first, then what is tested
        names = {file: "dev" if file == "valid" else shown(tested, file) for file in files}
        seeds = sorted({one["options"]["seed"] for one in probes})
        facts = (
            "Micro F1 in percent.",
            seeds_in_words(seeds, "whiskers" if len(layers) < 2 else ""),
        )
        if len(layers) > 1:
            panel = _curves(probes, names, layers, record["baseline"]["valid"])
            # The legend is below: with some languages, it would lie on their curves.
            figure = partial(draw, [panel], common=True)
        else:
            figure = partial(draw_bars, list(_bars(probes, names)))
        notes = caption(result, SOURCE, *facts)
        return Page(
            title="Probing spans of a frozen encoder",
            source=SOURCE,
            lead=["A small network reads the states of spans; the encoder does not change."],
            sections=[
                Section("Micro F1", figure=figure, notes=notes, name="plot"),
                Section("Table", header=header, rows=rows, notes=record["notes"], name="table"),
            ],
            tables={"table": (_LONG, list(_long_rows(tested, probes)))},
            measured=_measured(probes, record.get("row", "E8")),
        )


def shown(tested: Mapping[str, str], name: str) -> str:
    """The name of a file: its language, if it is the only one of it.

    >>> tested = {"en.a": "en", "de.a": "de", "de.b": "de"}
    >>> shown(tested, "en.a"), shown(tested, "de.b"), shown(tested, "valid")
    ('en', 'de.b', 'valid')
    """
    lang = tested.get(name, name)
    return lang if list(tested.values()).count(lang) == 1 else name


def _curves(
    probes: Scores, names: Mapping[str, str], layers: Sequence[int], prior: Mapping[str, Any]
) -> Panel:
    lines = []
    for style, (file, name) in enumerate(names.items()):
        by_layer = [[one for one in probes if one["layers"] == [layer]] for layer in layers]
        y = [100 * statistics.fmean(_values(own, file, "f1")) for own in by_layer]
        lines.append(Line(name, layers, y, style))
    dotted = 100 * prior["f1"], f"always {prior['label']} (dev)"
    return Panel(lines, "layer (0 = embedding output)", "micro F1 (%)", chance=dotted, whole=True)


def _bars(probes: Scores, names: Mapping[str, str]) -> Iterator[BarPanel]:
    variants = list(dict.fromkeys(one["variant"] for one in probes))
    by_probe = [[one for one in probes if one["variant"] == variant] for variant in variants]
    for file, name in names.items():
        label = f"{name} F1 (%)"
        cells = [_percent(_values(own, file, "f1")) for own in by_probe]
        yield BarPanel(variants, [over_seeds(label, cells)], label)


def _values(probes: Scores, file: str, figure: str) -> list[float]:
    return [one["scores"][file][figure] for one in probes]


def _percent(values: Sequence[float]) -> OverSeeds:
    return OverSeeds(tuple(100 * value for value in values), 1)


def _long_rows(tested: Mapping[str, str], probes: Scores) -> Iterator[list[Any]]:
    for one in probes:
        for file, scores in one["scores"].items():
            figures = [scores[key] for key in _LONG[4:]]
            yield [one["variant"], one["options"]["seed"], file, tested.get(file, ""), *figures]


def _measured(probes: Scores, row: str) -> list[Measured]:
    found = []
    for file in probes[0]["scores"]:
        by_probe: dict[str, list[float]] = {}
        for one in probes:
            by_probe.setdefault(one["variant"], []).append(one["scores"][file]["f1"])
        best = max(by_probe, key=lambda name: statistics.fmean(by_probe[name]))
        if file != "valid" or len(probes[0]["scores"]) == 1:
            value = 100 * statistics.fmean(by_probe[best])
            found.append(Measured(row, f"micro F1 (%) of {file}, best probe {best}", value))
    return found


def _notes(probes: Scores, missing: str) -> list[str]:
    found = []
    counts = {(one["variant"], *x): None for one in probes for x in one["without_vectors"].items()}
    for name in probes[0]["without_vectors"]:
        numbers = {variant: count for variant, file, count in counts if file == name}
        alike = len(set(numbers.values())) == 1
        for variant, count in list(numbers.items())[: 1 if alike else None]:
            if count:
                where = name if alike else f"{variant}, {name}"
                found.append(f"{where}: {count:,} examples {missing}; their labels count as missed")
    for one in probes:
        if one["mix"]:
            pairs = zip(one["layers"], one["mix"], strict=True)
            shares = ", ".join(f"{layer}: {share:.2f}" for layer, share in pairs)
            found.append(f"seed {one['options']['seed']} mixes layers {shares}")
    return found
