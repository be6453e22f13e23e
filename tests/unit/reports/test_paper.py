"""At a paper's width everything that is written in a figure is whole, and covers nothing else."""

import functools
import itertools
from functools import partial

import pytest
from matplotlib.text import Text

from fairseq_xling.reports.figure_file import figure_data
from fairseq_xling.reports.figures import (
    DotPanel,
    Line,
    Panel,
    Points,
    draw,
    draw_dots,
    draw_scatter,
    styled,
)
from fairseq_xling.reports.paper import fit, paper
from fairseq_xling.reports.plots import BarPanel, Bars, HeatPanel, draw_bars, draw_heat_maps

LONG = "without shared layers and embeddings, with the identity of the language"
LAYERS = range(13)
UNIT = "mean cosine to the nearest word of the source language"


def lines(*names):
    return [Line(name, LAYERS, [(k + n) / 20 for k in LAYERS], n) for n, name in enumerate(names)]


PANEL = Panel(lines("cosine mean", LONG, "CSLS mean"), "layer (0: embeddings)", UNIT, LONG)
MATRIX = [[(r + c) / 26 for c in LAYERS] for r in LAYERS]
DOTS = [
    DotPanel([f"{k}: {LONG}" for k in range(6)], [[1, 2]] * 6, "F1 (%)", lang, (1.5, "chance"))
    for lang in ("en", "de", "fr")
]
SERIES = [Bars("found by the adversary", [0.1, 0.5]), Bars("refined by Procrustes", [0.2, 0.7])]
FIGURES = {
    "lines": partial(draw, [PANEL, PANEL]),
    "lines with one legend": partial(draw, [PANEL, PANEL]),
    "dots": partial(draw_dots, DOTS),
    "bars": partial(draw_bars, [BarPanel(["seed 1", LONG], SERIES, UNIT, LONG)]),
    "heat map": partial(
        draw_heat_maps, [HeatPanel(MATRIX, LAYERS, LAYERS, UNIT, UNIT, LONG, "CKA")]
    ),
    "names of columns": partial(
        draw_heat_maps,
        [HeatPanel([[0.5] * 8] * 3, [LONG] * 3, [f"language-{k}" for k in range(8)], unit="x")],
    ),
    "scatter": partial(
        draw_scatter,
        [Points(LONG, range(5), [k % 3 for k in range(5)], ["en", "de", "fr", "zh", "ru"])],
        UNIT,
        UNIT,
    ),
}


HEAT = partial(draw_heat_maps, [HeatPanel(MATRIX, LAYERS, LAYERS, "x", "y", unit="CKA")])


@functools.cache
def on_paper(drawing, width):
    """A figure at this width, drawn once for all tests."""
    with paper(width):
        figure = drawing()
        styled(fit)(figure)
        styled(figure.draw_without_rendering)()
    return figure


def faults(figure):
    """What is cut, or covers something else, in words."""
    texts = [one for one in figure.findobj(Text) if one.get_visible() and one.get_text().strip()]
    ticks = {label for axis in figure.axes for label in (*shown(axis.xaxis), *shown(axis.yaxis))}
    every = {tick for axis in figure.axes for tick in labels(axis.xaxis) + labels(axis.yaxis)}
    hidden = {one for axis in figure.axes if not axis.get_visible() for one in axis.findobj(Text)}
    texts = [one for one in texts if one not in hidden and (one not in every or one in ticks)]
    boxes = [(one.get_text(), Text.get_window_extent(one), one.get_rotation()) for one in texts]
    legends = [axis.get_legend() for axis in figure.axes if axis.get_legend()] + figure.legends
    for name, box, _ in boxes:
        inside = box.x0 > -1 and box.y0 > -1
        if not (inside and box.x1 < figure.bbox.x1 + 1 and box.y1 < figure.bbox.y1 + 1):
            yield f"cut: {name}"
    for (one, a, turned), (other, b, too) in itertools.combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if min(across) > 1 and not (turned % 90 or too % 90):
            yield f"over each other: {one}, {other}"
    for legend, axis in itertools.product(legends, figure.axes):
        box = legend.get_window_extent()
        if axis.get_visible() and box.padded(-1).overlaps(axis.get_window_extent()):
            yield f"legend on axes: {legend.get_texts()[0].get_text()}"


def labels(axis):
    return [label for tick in axis.majorTicks for label in (tick.label1, tick.label2)]


def shown(axis):
    low, high = sorted(axis.get_view_interval())
    ticks = (tick for tick in axis.majorTicks if low <= tick.get_loc() <= high)
    return [tick.label1 for tick in ticks]


@pytest.mark.parametrize("width", [3.3, 6.9])
@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_or_covered(name, width):
    figure = on_paper(FIGURES[name], width)
    assert figure.get_figwidth() == width
    assert list(faults(figure)) == []


def test_the_fault_is_seen_where_a_figure_is_only_made_narrower():
    figure = FIGURES["lines"]()
    figure.set_size_inches(3.3, 1.2)
    styled(figure.draw_without_rendering)()
    assert list(faults(figure))


def test_letters_have_eight_points_at_every_width():
    for width in (3.3, 6.9):
        axis = on_paper(FIGURES["lines"], width).axes[0]
        assert axis.xaxis.label.get_fontsize() == axis.get_xticklabels()[0].get_fontsize() == 8
        assert axis.figure.legends[0].get_texts()[0].get_fontsize() == pytest.approx(6.4)


def test_height_is_in_proportion_where_nothing_needs_more():
    natural = HEAT().get_size_inches()
    wide = on_paper(HEAT, 6.9).get_size_inches()
    assert wide[1] / wide[0] == pytest.approx(natural[1] / natural[0])


def test_panels_without_room_side_by_side_are_below_each_other():
    for width, columns in ((3.3, 1), (6.9, 2)):
        axes = on_paper(FIGURES["lines"], width).axes
        assert len({round(axis.get_position().x0, 1) for axis in axes}) == columns


def test_a_heat_map_has_numbers_where_there_is_room():
    assert len(on_paper(HEAT, 6.9).axes[0].texts) == 169
    assert not on_paper(HEAT, 2.5).axes[0].texts


def test_numbers_of_an_axis_are_left_out_rather_than_written_over_each_other():
    panel = Panel([Line("a", [1000, 1100, 20000], [1, 2, 3])], "sentences", "F1", log_x=True)
    axis = on_paper(partial(draw, [panel]), 3.3).axes[0]
    names = [label.get_text() for label in axis.get_xticklabels()]
    assert names == ["1,000", "", "20,000"]
    assert axis.get_xticks().tolist() == [1000, 1100, 20000]


def test_mathematics_are_not_wrapped():
    title = r"$\alpha + \beta + \gamma + \delta + \epsilon + \zeta + \eta + \theta + \iota$" * 3
    axis = on_paper(partial(draw, [Panel(lines("a"), "x", "y", title)]), 2.5).axes[0]
    assert axis.get_title() == title


def test_other_figures_are_as_before_a_figure_on_paper():
    before = figure_data(FIGURES["bars"], ".svg")
    figure_data(FIGURES["bars"], ".svg", 3.3)
    assert figure_data(FIGURES["bars"], ".svg") == before
