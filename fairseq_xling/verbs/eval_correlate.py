"""Correlate two measures over layers and language pairs, such as CKA and sentence retrieval.

  fairseq-xling eval correlate cka-de.json tatoeba-de.json cka-fr.json tatoeba-fr.json \\
      --output correlation.json --figure correlation.svg

RESULTS are files that `eval cka`, `eval tatoeba`, `eval bli` or `eval meanshift` wrote, two for
each pair of encoders. Prints Pearson's and Spearman's correlation over the layers of each pair, and
over all points.
"""

import dataclasses
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, read_record
from fairseq_xling.reports.rows import GIVEN, distinct, select
from fairseq_xling.verbs.parts.output import OutputOptions, check_output, finish

GROUP = "Analyse"
POINT = "a layer"  # the measure of a point of the scatter plot
# Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.2 and Figure 7: the correlation
# of CKA with sentence retrieval over the layers of each pair.


@dataclasses.dataclass(frozen=True)
class _Curves:
    results: tuple[str, ...] = argument(
        "two per pair: its first and second measure", Input("RESULTS"), words="+"
    )
    x: str | None = option(
        None, "column of each first file (default: its main one)", metavar="CURVE"
    )
    y: str | None = option(
        None, "column of each second file (default: its main one)", metavar="CURVE"
    )


@dataclasses.dataclass(frozen=True)
class Options(OutputOptions, _Curves):
    """The files, and those of the results."""


@dataclasses.dataclass
class Pair:
    """Both measures of two encoders, a point for each layer that both files have."""

    label: str
    layers: list[int]
    x: list[float]
    y: list[float]
    names: tuple[str, str]


def run(options: Options) -> None:
    check_output(options)
    if len(options.results) % 2:
        raise UserError(f"RESULTS must come in twos, got {len(options.results)} files")
    twos = list(zip(options.results[::2], options.results[1::2], strict=True))
    pairs = [_pair(first, second, options) for first, second in twos]
    names = pairs[0].names
    for pair, files in zip(pairs, twos, strict=True):
        if pair.names != names:
            raise UserError(
                f"{' and '.join(files)}: must measure {' and '.join(names)} as the first two do, "
                f"got {' and '.join(pair.names)}"
            )
    labels = [pair.label for pair in pairs]
    for pair, (first, _) in zip(pairs, twos, strict=True):
        if labels.count(pair.label) > 1:  # told apart by their first files
            pair.label += f" ({Path(first).stem})"
    rows = [_row(pair.label, pair.x, pair.y) for pair in pairs]
    if len(pairs) > 1:
        rows.append(_row("all", *([v for p in pairs for v in getattr(p, side)] for side in "xy")))
    lines = [
        {"pair": label, "measure": name, "value": value}
        for label, *values in rows
        for name, value in zip(("points", "Pearson", "Spearman"), values, strict=True)
        if value is not None
    ]
    points = [
        {"pair": pair.label, "layer": layer, "x": x, "measure": POINT, "value": y}
        for pair in pairs
        for layer, x, y in zip(pair.layers, pair.x, pair.y, strict=True)
    ]
    notes = ["a point is a layer; nothing is printed if a measure is the same at all layers"]
    chart = Chart("scatter", {"measure": POINT}, row="pair", x="x", label="layer")
    section = Section(
        "Correlation",
        Table({"pair": "pair"}, order=("points", "Pearson", "Spearman"), where={"x": None}),
        dataclasses.replace(chart, xlabel=names[0], ylabel=names[1]),
        notes,
    )
    record = Record(
        f"Correlation of {names[0]} with {names[1]}",
        [{"study": "correlate", **row} for row in (*lines, *points)],
        (section,),
        source="Emerging Cross-lingual Structure (Conneau et al., 2020), 5.2 and Figure 7",
        lead=["Do more similar layers also retrieve more translations?"],
    )
    finish(options, record, {f"results {n}": path for n, path in enumerate(options.results)})


def _pair(first: str, second: str, options: Options) -> Pair:
    from fairseq_xling.analysis.correlation import LEAST

    records = [read_record(path) for path in (first, second)]
    labels = ["-".join(_pair_of(record)) for record in records]
    if labels[0] != labels[1]:
        raise UserError(
            f"{first} and {second}: must be of one pair of languages, got {labels[0]} and "
            f"{labels[1]}"
        )
    values, names = [], []
    for path, record, wanted in zip((first, second), records, (options.x, options.y), strict=True):
        study = str(record.rows[0].get("study"))
        name = wanted or record.facts["main curve"]
        own = select(record.rows, {"measure": name, "layer": GIVEN})
        if not own:
            raise UserError(
                f"{path}: {unknown_name('curve', name, distinct(record.rows, 'measure'))}"
            )
        values.append({row["layer"]: row["value"] for row in own})
        names.append(name if name.lower() == study else f"{study} {name}")
    layers = [layer for layer in values[0] if layer in values[1]]
    if len(layers) < LEAST:
        raise UserError(
            f"{first} and {second}: a correlation needs {LEAST} layers in both, got {len(layers)}"
        )
    points = ([side[layer] for layer in layers] for side in values)
    return Pair(labels[0], layers, *points, (names[0], names[1]))


def _pair_of(record: Record) -> tuple[str, str]:
    """The languages of results by layer."""
    sides = {
        (row.get("source"), row.get("target")) for row in select(record.rows, {"layer": GIVEN})
    }
    if len(sides) != 1 or not isinstance(record.facts.get("main curve"), str):
        raise UserError(f"{record.path}: not results by layer, as `eval cka --output` writes them")
    ((source, target),) = sides
    return str(source), str(target)


def _row(label: str, x: list[float], y: list[float]) -> list[Any]:
    from fairseq_xling.analysis.correlation import correlation

    return [label, len(x), *(correlation(x, y) or (None, None))]
