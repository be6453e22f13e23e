"""The figure of `fairseq-xling clcr report`, drawn from its record alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairseq_xling.results.figures import COLOURS, new_figure, styled
from fairseq_xling.results.paper import points


@styled
def draw_report(record: Mapping[str, Any]) -> Figure:
    """For each kind of distance, the distances of translations and of random pairs; below, if
    there are scores, the mean distance by score."""
    ways = record["distances"]
    scored = any(one.get("by_score") for one in ways.values())
    rows = 2 if scored else 1
    figure = new_figure((4.6 * len(ways), 3.3 * rows))
    axes = figure.subplots(rows, len(ways), squeeze=False)
    for column, (name, one) in enumerate(ways.items()):
        _histograms(axes[0, column], name, one)
        if scored:
            _by_score(axes[1, column], one["by_score"])
    return figure


def _histograms(axis: Axes, name: str, one: Mapping[str, Any]) -> None:
    kinds = (("translations", COLOURS[0], ""), ("random", COLOURS[1], "//"))
    for kind, colour, hatch in kinds:
        counts = one[kind]["histogram"]
        shares = [count / one[kind]["pairs"] for count in counts]
        label = kind if kind == "translations" else "random pairs"
        axis.stairs(
            shares, one["edges"], fill=True, color=colour, alpha=0.45, hatch=hatch, label=label
        )
    title = f"{name}, AUC {one['auc']:.3f}"
    axis.set(xlabel="distance", ylabel="share of pairs", title=title)
    axis.legend(fontsize=points(8), framealpha=0.9)


def _by_score(axis: Axes, points: Sequence[Sequence[float]]) -> None:
    axis.plot(*zip(*points, strict=True), "o-", color=COLOURS[2])
    axis.set(xlabel="score, mean of each fifth", ylabel="mean distance")
    axis.set_ylim(bottom=0)
