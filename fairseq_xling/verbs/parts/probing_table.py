"""The table, figures and record of `fairseq-xling probe`."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.files import write_json
from fairseq_xling.results.figure_file import write_figure
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.statistics import mean_and_spread
from fairseq_xling.results.tables import text_table, write_csv

_FIGURES = ("precision", "recall", "f1")
_CSV = ["probe", "seed", "file", "language", *_FIGURES, "right", "predicted", "gold"]


def write_table(
    output: Path,
    tested: Mapping[str, str],
    baseline: Mapping[str, Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    origin: Mapping[str, Any],
    missing: str = "are beyond the model's positions or contain no letter",
    row: str = "E8",
) -> None:
    """Write ``results.json``, ``table.csv`` and, for several layers, ``plot.svg``; print a table.

    Args:
        tested: the language of each test file, by its name.
        baseline: F1 of the most frequent label, by file.
        missing: why examples have no vectors.
        row: of the specification, for the index.
    """
    scored = [name for name in tested if name in baseline]
    columns = [f"{shown(tested, x)} {name}" for x in scored for name in ("P", "R", "F1")]
    header = ["probe", "dev F1", *columns]
    rows = [
        ["always " + next(iter(baseline.values()))["label"], _percent([baseline["valid"]["f1"]])]
        + [cell for x in scored for cell in ("-", "-", _percent([baseline[x]["f1"]]))]
    ]
    variants = list(dict.fromkeys(result["variant"] for result in results))
    for variant in variants:
        own = [result for result in results if result["variant"] == variant]
        figures = [_percent(_values(own, "valid", "f1"))]
        figures += [_percent(_values(own, name, figure)) for name in scored for figure in _FIGURES]
        rows.append([variant, *figures])
    write_csv(output / "table.csv", _CSV, list(_long_rows(tested, results)))
    seeds = sorted({result["options"]["seed"] for result in results})
    notes = [f"micro precision, recall and F1 in percent; seeds {', '.join(map(str, seeds))}"]
    notes += _notes(results, missing)
    write_json(
        output / "results.json",
        {
            "header": header,
            "rows": rows,
            "baseline": baseline,
            "probes": list(results),
            "notes": notes,
            "row": row,
            "provenance": origin,
        },
    )
    single = [result for result in results if len(result["layers"]) == 1]
    if len({result["layers"][0] for result in single}) > 1:
        labels = {"valid": "dev", **{name: shown(tested, name) for name in scored}}
        write_figure(output / "plot.svg", draw([panel(labels, single)]))
    print(text_table(header, rows))
    print("\n".join(f"({note})" for note in notes))
    print(f"written to {output}: results.json, table.csv, predictions/")


def shown(tested: Mapping[str, str], name: str) -> str:
    """The name of a file: its language, if it is the only one of it.

    >>> tested = {"en.a": "en", "de.a": "de", "de.b": "de"}
    >>> shown(tested, "en.a"), shown(tested, "de.b")
    ('en', 'de.b')
    """
    lang = tested[name]
    return lang if list(tested.values()).count(lang) == 1 else name


def panel(labels: Mapping[str, str], results: Sequence[Mapping[str, Any]]) -> Panel:
    """F1 by layer, a line for each file, means over seeds; ``labels`` are the files' names."""
    layers = sorted({result["layers"][0] for result in results})
    lines = []
    for style, (name, label) in enumerate(labels.items()):
        y = [
            100 * statistics.fmean(_values([r for r in results if r["layers"] == [n]], name, "f1"))
            for n in layers
        ]
        lines.append(Line(label, layers, y, style))
    return Panel(lines, "layer", "micro F1 (%)", whole=True)


def _values(results: Sequence[Mapping[str, Any]], name: str, figure: str) -> list[float]:
    return [result["scores"][name][figure] for result in results]


def _percent(values: Sequence[float]) -> str:
    return mean_and_spread([100 * value for value in values], 1)


def _long_rows(tested: Mapping[str, str], results: Sequence[Mapping[str, Any]]) -> Any:
    for result in results:
        for name, scores in result["scores"].items():
            figures = [scores[key] for key in _CSV[4:]]
            seed = result["options"]["seed"]
            yield [result["variant"], seed, name, tested.get(name, ""), *figures]


def _notes(results: Sequence[Mapping[str, Any]], missing: str) -> list[str]:
    found = []
    counts = {(one["variant"], *x): None for one in results for x in one["without_vectors"].items()}
    for name in results[0]["without_vectors"]:
        numbers = {variant: count for variant, file, count in counts if file == name}
        alike = len(set(numbers.values())) == 1
        for variant, count in list(numbers.items())[: 1 if alike else None]:
            if count:
                where = name if alike else f"{variant}, {name}"
                found.append(f"{where}: {count:,} examples {missing}; their labels count as missed")
    for result in results:
        if result["mix"]:
            shares = ", ".join(
                f"{layer}: {share:.2f}"
                for layer, share in zip(result["layers"], result["mix"], strict=True)
            )
            found.append(f"seed {result['options']['seed']} mixes layers {shares}")
    return found
