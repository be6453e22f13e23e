"""Draw the picture of the README from a finished demonstration.

    make demo
    python docs/figures.py runs/demo

writes `docs/assets/demo.svg`: sentence retrieval by layer, transfer to German, and translation.
"""

import argparse
import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from fairseq_xling.core.files import atomic_write, read_json
from fairseq_xling.reports.figures import COLOURS, new_figure, styled, to_svg
from fairseq_xling.studies.demo.migration import translations
from fairseq_xling.studies.demo.result import NAMES
from fairseq_xling.studies.demo.transfer import SHOWN
from fairseq_xling.studies.gold_tasks import TASKS

ASSETS = Path(__file__).parent / "assets"
TARGET = "de"
ORDERS = {
    "identity": "source order",
    "predicted": "predicted",
    "oracle": "reference order",
    "lattice": "slots",
}


@styled
def draw(record: dict[str, Any]) -> str:
    """The picture as SVG, of the ``results.json`` of a demonstration."""
    figure = new_figure((11, 3.1))
    axes = figure.subplots(1, 3)
    for axis in axes:
        axis.set_axisbelow(True)
    figure.patch.set_facecolor("white")  # readable on a dark page, too
    _retrieval(axes[0], record["models"])
    _transfer(axes[1], record["transfer"])
    _translation(axes[2], translations(record["migration"]))
    for axis in axes:
        axis.title.set_fontsize(10)
    return to_svg(figure)


def _retrieval(axis: Axes, models: dict[str, Any]) -> None:
    for number, (name, model) in enumerate(models.items()):
        means = [100 * sum(pair) / len(pair) for pair in model["layers"]]
        axis.plot(means, f"{'os'[number]}-", color=COLOURS[number], label=NAMES[name])
    chance = 100 * next(iter(models.values()))["chance"]["retrieval"]
    axis.axhline(chance, color="#666666", linestyle=":", label="chance")
    axis.set_xticks(range(len(means)))
    axis.set(title="Sentence retrieval, no parallel text", xlabel="layer", ylabel="P@1 (%)")
    axis.set_ylim(0, 1.15 * axis.get_ylim()[1])
    axis.legend(fontsize=8)


def _bars(axis: Axes, places: list[float], values: list[float], **style: Any) -> None:
    bars = axis.bar(places, values, **style)
    axis.bar_label(bars, [f"{value:.0f}" for value in values], fontsize=8, padding=2)


def _transfer(axis: Axes, found: dict[str, Any]) -> None:
    """Scores in German of heads that were fine-tuned on English."""
    width, tasks = 0.8 / len(NAMES), [task for task in SHOWN if task in found]
    for number, (name, title) in enumerate(NAMES.items()):
        places = [row + (number - (len(NAMES) - 1) / 2) * width for row in range(len(tasks))]
        scores = [found[task][name][TARGET] for task in tasks]
        _bars(axis, places, scores, width=width, color=COLOURS[number], label=title)
    axis.set_xticks(range(len(tasks)), [TASKS[task].title for task in tasks])
    axis.set(title="Fine-tuned on English, tested on German", ylabel="score (%)", ylim=(0, 100))
    axis.legend(fontsize=8)


def _translation(axis: Axes, found: dict[str, Any]) -> None:
    """BLEU of the migrated encoder by the order of its words, and of models it is compared with."""
    values = [scores["bleu"] for scores in found.values()]
    _bars(axis, list(range(len(found))), values, width=0.6, color=COLOURS[2])
    labels = [
        ORDERS.get(name, name.replace(", ", "\n")).replace(" order", "\norder") for name in found
    ]
    axis.set_xticks(range(len(found)), labels, fontsize=8)
    axis.set(title="Migrated encoder, English to German", ylabel="BLEU")
    axis.set_ylim(0, max(1, math.ceil(1.15 * max(values))))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of a finished demo")
    parser.add_argument("--output", type=Path, default=ASSETS / "demo.svg", metavar="SVG")
    args = parser.parse_args(argv)
    results = args.run / "results.json"
    if not results.is_file():
        raise SystemExit(f"`RUN` must be the folder of a finished demo; no {results}")
    svg = draw(read_json(results))
    with atomic_write(args.output, "w") as file:
        file.write(svg)
    print(args.output)


if __name__ == "__main__":
    main()
