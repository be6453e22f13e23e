"""Correlate two measures over layers and language pairs, such as CKA and sentence retrieval.

  fairseq-xling eval correlate cka-de.json tatoeba-de.json cka-fr.json tatoeba-fr.json \\
      --output correlation.json --figure correlation.svg

RESULTS are files that `eval cka`, `eval tatoeba`, `eval bli` or `eval meanshift` wrote, two for
each pair of encoders. Prints Pearson's and Spearman's correlation over the layers of each pair, and
over all points.
"""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.verbs.parts.comparison import FORMAT, OutputOptions, check_output, finish

GROUP = "Analyse"
SPEC_ROWS = ("S9",)
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
    from fairseq_xling.verbs.parts.eval_result import draw_points

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
    points = [
        {"pair": pair.label, "layer": layer, "x": x, "y": y}
        for pair in pairs
        for layer, x, y in zip(pair.layers, pair.x, pair.y, strict=True)
    ]
    header = ["pair", "points", "Pearson", "Spearman"]
    record = {
        "measure": "correlate",
        "x": names[0],
        "y": names[1],
        "correlations": [dict(zip(header, row, strict=True)) for row in rows],
        "points": points,
    }
    files = {f"results {n}": Path(path) for n, path in enumerate(options.results)}
    notes = ["a point is a layer; nothing is printed if a measure is the same at all layers"]
    figure = partial(draw_points, record) if options.figure else None
    title = f"Correlation of {names[0]} with {names[1]}"
    finish(options, title, header, rows, notes, record, files, figure)


def _pair(first: str, second: str, options: Options) -> Pair:
    from fairseq_xling.analysis.correlation import LEAST

    records = [_read(path) for path in (first, second)]
    if records[0]["pair"] != records[1]["pair"]:
        raise UserError(
            f"{first} and {second}: must be of one pair of languages, "
            f"got {records[0]['pair']} and {records[1]['pair']}"
        )
    values, names = [], []
    for path, record, wanted in zip((first, second), records, (options.x, options.y), strict=True):
        name = wanted or record["headline"]
        if name not in record["curves"]:
            raise UserError(f"{path}: {unknown_name('curve', name, list(record['curves']))}")
        values.append(dict(zip(record["layers"], record["curves"][name], strict=True)))
        names.append(name if name.lower() == record["measure"] else f"{record['measure']} {name}")
    layers = [layer for layer in values[0] if layer in values[1]]
    if len(layers) < LEAST:
        raise UserError(
            f"{first} and {second}: a correlation needs {LEAST} layers in both, got {len(layers)}"
        )
    points = ([side[layer] for layer in layers] for side in values)
    return Pair(records[0]["pair"], layers, *points, (names[0], names[1]))


def _read(path: str) -> dict[str, Any]:
    record = read_json(path)
    wanted = {"pair": str, "layers": list, "curves": dict, "headline": str, "measure": str}
    if not isinstance(record, dict) or not all(
        isinstance(record.get(name), kind) for name, kind in wanted.items()
    ):
        raise UserError(f"{path}: not results by layer, as `eval cka --output` writes them")
    if record.get("format") != FORMAT:
        raise UserError(f"{path}: format must be {FORMAT}, got {record.get('format')!r}")
    return record


def _row(label: str, x: list[float], y: list[float]) -> list[Any]:
    from fairseq_xling.analysis.correlation import correlation

    return [label, len(x), *(correlation(x, y) or (None, None))]
