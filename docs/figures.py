"""Draw the picture of the README from a finished demonstration.

    make demo
    python docs/figures.py runs/demo

writes `docs/assets/demo.svg`: sentence retrieval by layer, transfer to German, and translation.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from fairseq_xling.core.files import atomic_write
from fairseq_xling.reports.figures import COLOURS, new_figure, styled, to_svg
from fairseq_xling.reports.record import RESULTS, read_record
from fairseq_xling.reports.rows import Row, distinct, select
from fairseq_xling.studies.demo.record import MAPPED, bleu_of

ASSETS = Path(__file__).parent / "assets"
ORDERS = {
    "identity": "source order",
    "predicted": "predicted",
    "oracle": "reference order",
    "lattice": "slots",
}


@styled
def draw(rows: Sequence[Row]) -> str:
    """The picture as SVG, of the rows of a demonstration's record."""
    figure = new_figure((11, 3.1))
    axes = figure.subplots(1, 3)
    for axis in axes:
        axis.set_axisbelow(True)
    figure.patch.set_facecolor("white")  # readable on a dark page, too
    by_layer = select(rows, {"kind": "eval", "task": "retrieval", "measure": "mean"})
    _retrieval(axes[0], by_layer, select(rows, {"kind": "eval", "what": MAPPED}))
    _transfer(axes[1], select(rows, {"kind": "transfer", "target": "de"}))
    _translation(axes[2], bleu_of(rows))
    for axis in axes:
        axis.title.set_fontsize(10)
    return to_svg(figure)


def _retrieval(axis: Axes, rows: Sequence[Row], mapped: Sequence[Row]) -> None:
    for number, model in enumerate(distinct(rows, "row")):
        own = select(rows, {"row": model})
        layers, means = [row["layer"] for row in own], [100 * row["value"] for row in own]
        axis.plot(layers, means, f"{'os'[number]}-", color=COLOURS[number], label=model)
    for number, row in enumerate(mapped):
        label = "last layer, mapped" if number == 0 else None
        style = {"color": COLOURS[number], "linestyle": "none", "label": label}
        axis.plot(row["layer"], 100 * row["value"], "*", markersize=11, **style)
    axis.axhline(100 * rows[0]["chance"], color="#666666", linestyle=":", label="chance")
    axis.set_xticks(layers)
    axis.set(title="Sentence retrieval, trained without pairs", xlabel="layer", ylabel="P@1 (%)")
    axis.set_ylim(0, 1.15 * axis.get_ylim()[1])
    axis.legend(fontsize=8)


def _bars(axis: Axes, places: list[float], values: list[float], **style: Any) -> None:
    bars = axis.bar(places, values, **style)
    axis.bar_label(bars, [f"{value:.0f}" for value in values], fontsize=8, padding=2)


def _transfer(axis: Axes, rows: Sequence[Row]) -> None:
    """Scores in German of heads that were fine-tuned on English."""
    models, tasks = distinct(rows, "row"), distinct(rows, "measure")
    width = 0.8 / len(models)
    for number, model in enumerate(models):
        own = select(rows, {"row": model})
        shift = (number - (len(models) - 1) / 2) * width
        places = [tasks.index(row["measure"]) + shift for row in own]
        scores = [row["value"] for row in own]
        _bars(axis, places, scores, width=width, color=COLOURS[number], label=model)
    axis.set_xticks(range(len(tasks)), tasks)
    axis.set(title="Fine-tuned on English, tested on German", ylabel="score (%)", ylim=(0, 100))
    axis.legend(fontsize=8)


def _translation(axis: Axes, bleu: dict[str, float]) -> None:
    """BLEU of the migrated encoder by the order of its words, and of models it is compared with."""
    values = list(bleu.values())
    _bars(axis, list(range(len(bleu))), values, width=0.6, color=COLOURS[2])
    labels = [
        ORDERS.get(name, name.replace(", ", "\n")).replace(" order", "\norder") for name in bleu
    ]
    axis.set_xticks(range(len(bleu)), labels, fontsize=8)
    axis.set(title="Migrated encoder, English to German", ylabel="BLEU")
    axis.set_ylim(0, max(1, math.ceil(1.15 * max(values))))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of a finished demo")
    parser.add_argument("--output", type=Path, default=ASSETS / "demo.svg", metavar="SVG")
    args = parser.parse_args(argv)
    results = args.run / RESULTS
    if not results.is_file():
        raise SystemExit(f"`RUN` must be the folder of a finished demo; no {results}")
    svg = draw(read_record(results).rows)
    with atomic_write(args.output, "w") as file:
        file.write(svg)
    print(args.output)


if __name__ == "__main__":
    main()
