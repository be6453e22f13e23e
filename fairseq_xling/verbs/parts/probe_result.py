"""The result of `fairseq-xling probe`: what the states of spans in a frozen encoder tell."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from fairseq_xling.results.charts import bars, curves
from fairseq_xling.results.frame import make_frame, pivot
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds, read_cell
from fairseq_xling.results.tables import text_table

SOURCE = "CLCR, Tables 5 and 6"
_FIGURES = {"precision": "P", "recall": "R", "f1": "F1"}
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
    columns = [f"{shown(tested, x)} {name}" for x in scored for name in _FIGURES.values()]
    frame = frame_of(probes, tested)
    header, rows = pivot(frame, {"probe": "row"}, "column", order=["dev F1", *columns], digits=1)
    always: list[Any] = [f"always {baseline['valid']['label']}"]
    for file in ("valid", *scored):
        always += [*([] if file == "valid" else [None, None]), _percent([baseline[file]["f1"]])]
    rows = [always, *rows]
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
        frame, prior = frame_of(probes, tested), record["baseline"]["valid"]
        f1 = frame[frame["measure"] == "f1"]
        by_layer = f1[f1["layer"].notna()].sort_values("layer", kind="stable")
        seeds = sorted({one["options"]["seed"] for one in probes})
        if several := by_layer["layer"].nunique() > 1:
            figure = partial(
                curves,
                by_layer.assign(seed=None, chance=100 * prior["f1"]),  # means, without bands
                "micro F1 (%)",
                xlabel="layer (0 = embedding output)",
                line="name",
                chance=lambda rows: f"always {prior['label']} (dev)",
                common=True,  # with some languages, a legend would lie on their curves
            )
        else:
            labelled = f1.assign(label=f1["name"] + " F1 (%)")
            words = {name: name for name in labelled["label"]}
            figure = partial(bars, labelled, words, series="label", panel="label")
        facts = ("Micro F1 in percent.", seeds_in_words(seeds, "" if several else "whiskers"))
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
            measured=list(_measured(probes, record.get("row", "E8"))),
        )


def shown(tested: Mapping[str, str], name: str) -> str:
    """The name of a file: its language, if it is the only one of it.

    >>> tested = {"en.a": "en", "de.a": "de", "de.b": "de"}
    >>> shown(tested, "en.a"), shown(tested, "de.b"), shown(tested, "valid")
    ('en', 'de.b', 'valid')
    """
    lang = tested.get(name, name)
    return lang if list(tested.values()).count(lang) == 1 else name


def frame_of(probes: Scores, tested: Mapping[str, str]) -> pandas.DataFrame:
    """A row for each probe, seed, file and figure, in percent; the dev file is the first.

    ``name`` is the file's, ``column`` that of a table.
    """
    return make_frame(
        {
            **{"row": one["variant"], "seed": one["options"]["seed"], "file": file, "name": name},
            **{"layer": one["layers"][0] if len(one["layers"]) == 1 else None},
            **{"measure": figure, "column": f"{name} {_FIGURES[figure]}"},
            "value": 100 * one["scores"][file][figure],
        }
        for one in probes
        for file in sorted(one["scores"], key="valid".__ne__)
        for name in ("dev" if file == "valid" else shown(tested, file),)
        for figure in _FIGURES
    )


def _percent(values: Sequence[float]) -> OverSeeds:
    return OverSeeds(tuple(100 * value for value in values), 1)


def _long_rows(tested: Mapping[str, str], probes: Scores) -> Iterator[list[Any]]:
    for one in probes:
        for file, scores in one["scores"].items():
            figures = [scores[key] for key in _LONG[4:]]
            yield [one["variant"], one["options"]["seed"], file, tested.get(file, ""), *figures]


def _measured(probes: Scores, row: str) -> Iterator[Measured]:
    """Of each test file, or of the dev file if it is alone, the best probe."""
    for file in probes[0]["scores"]:
        by_probe: dict[str, list[float]] = {}
        for one in probes:
            by_probe.setdefault(one["variant"], []).append(one["scores"][file]["f1"])
        best = max(by_probe, key=lambda name: statistics.fmean(by_probe[name]))
        if file != "valid" or len(probes[0]["scores"]) == 1:
            value = 100 * statistics.fmean(by_probe[best])
            yield Measured(row, f"micro F1 (%) of {file}, best probe {best}", value)


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
