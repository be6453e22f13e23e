import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from fairseq_xling.reports.figures import (
    COLOURS,
    DotPanel,
    Line,
    Panel,
    Points,
    draw,
    draw_dots,
    draw_scatter,
    place_labels,
    to_svg,
)

PANEL = Panel(
    [Line("en", [0, 1, 2], [3.0, 2.0, 1.0]), Line("de", [0, 1], [3.5, 2.5], style=1)],
    xlabel="update",
    ylabel="loss (bits)",
    title="Loss",
    chance=(4.0, "chance"),
    chosen=(1, "chosen"),
    whole=True,
)


def test_axes_are_labelled_and_every_line_stands_in_the_legend():
    axis = draw([PANEL]).axes[0]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("update", "loss (bits)")
    legend = [text.get_text() for text in axis.figure.legends[0].get_texts()]
    assert legend == ["en", "de", "chance", "chosen"]
    assert list(axis.get_xticks()) == [0, 1, 2]
    first, second = axis.get_lines()[:2]  # which differ without their colours
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_marker() != second.get_marker()


def test_a_common_legend_is_no_wider_than_the_figure():
    lines = [Line(f"a line of a long name, {n}", [1, 2], [1, 2], n) for n in range(6)]
    for panels in (1, 2):
        figure = draw([Panel(lines, "x", "y")] * panels)
        (legend,) = figure.legends
        assert len(legend.get_texts()) == 6
        assert legend.get_window_extent().width <= figure.bbox.width


def test_a_share_is_drawn_up_to_what_it_is_and_panels_of_one_unit_alike():
    low, high = (Panel([Line("a", [0, 1], [0.1, top])], "layer", "P@1") for top in (0.3, 0.9))
    other = Panel([Line("a", [0, 1], [0.1, 9.0])], "layer", "bits")
    limits = [axis.get_ylim() for axis in draw([low, high, other]).axes[:3]]
    assert limits[0] == limits[1] and limits[0][0] == 0 and limits[0][1] < 1
    assert limits[2][1] > 9
    assert [axis.get_visible() for axis in draw([low, high, other]).axes][3:] == [False]
    falling = draw([Panel([Line("a", [0, 1], [-0.5, 0.5])], "layer", "Pearson")])
    assert falling.axes[0].get_ylim()[0] <= -0.5


def test_of_many_whole_numbers_some_are_ticks():
    line = Line("en", list(range(1, 61)), [1.0] * 60)
    ticks = draw([Panel([line], "epoch", "f1", whole=True)]).axes[0].get_xticks()
    assert list(ticks) == list(range(1, 61, 3))
    line = Line("a", range(100, 1600, 100), [0.0] * 15)
    ticks = draw([Panel([line], "step", "f1", whole=True)]).axes[0].get_xticks()
    assert list(ticks) == list(range(100, 1600, 200))  # as their numbers have room


def test_svg_is_whole_and_the_same_each_time():
    once, again = to_svg(draw([PANEL, PANEL, PANEL])), to_svg(draw([PANEL, PANEL, PANEL]))
    assert ElementTree.fromstring(once).tag.endswith("svg")
    assert once == again


def test_dots_show_each_run_and_the_mean():
    panel = DotPanel(["A1", "A2"], [[0.2, 0.4], []], "P@1", chance=(0.1, "chance"))
    axis = draw_dots([panel]).axes[0]
    drawn = [line.get_xdata() for line in axis.get_lines()]
    assert list(drawn[0]) == [0.2, 0.4]
    assert drawn[1][0] == (0.2 + 0.4) / 2
    assert [label.get_text() for label in axis.get_yticklabels()] == ["A1", "A2"]


@pytest.mark.parametrize(("panels", "shape"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (6, (2, 3))])
def test_dots_of_many_figures_stand_in_rows(panels, shape):
    figure = draw_dots([DotPanel(["A1", "A2"], [[0.2], [0.4]], "P@1")] * panels)
    grid = figure.axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == shape
    assert all(axis.get_visible() for axis in figure.axes)


def groups(number):
    return [
        Points(f"encoder {n}", [1, 2, 4], [10.0 + n, 20.0, 30.0], ["de", "fr", "zh"], style=n)
        for n in range(number)
    ]


def test_scattered_points_are_named_and_explained():
    figure = draw_scatter(groups(2), "shared features", "zero-shot f1 (%)", whole=True)
    (axis,) = figure.axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("shared features", "zero-shot f1 (%)")
    assert [list(line.get_xydata()[0]) for line in axis.get_lines()] == [[1, 10], [1, 11]]
    assert sorted(text.get_text() for text in axis.texts) == sorted(["de", "fr", "zh"] * 2)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["encoder 0", "encoder 1"]
    assert all(tick == int(tick) for tick in axis.get_xticks())


def test_groups_differ_without_their_colours_and_beyond_them():
    lines = draw_scatter(groups(2 * len(COLOURS)), "x", "y").axes[0].get_lines()
    looks = [(line.get_color(), line.get_marker()) for line in lines]
    assert len(set(looks)) == len(looks)
    assert len({marker for _, marker in looks[: len(COLOURS)]}) == len(COLOURS)


_DRAWN = """
import sys
{before}
import matplotlib
settings = matplotlib.rcParams.copy()
from fairseq_xling.reports.figures import Line, Panel, draw, to_svg
assert "<svg" in to_svg(draw([Panel([Line("a", [0, 1], [0, 1])], "x", "y")]))
assert matplotlib.rcParams == settings
print("matplotlib.pyplot" in sys.modules, matplotlib.get_backend())
"""


@pytest.mark.parametrize(
    ("before", "named", "found"),
    [
        ("import matplotlib.pyplot as plt; plt.switch_backend('pdf')", {}, "True pdf"),
        ("", {"MPLBACKEND": "pdf"}, "False pdf"),
    ],
)
def test_a_notebook_keeps_its_backend_and_settings(before, named, found):
    program = _DRAWN.format(before=before)
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"} | named
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stdout.strip().lower() == found.lower(), done.stderr


@pytest.fixture
def axis():
    figure, axis = plt.subplots(figsize=(5, 4))
    axis.set(xlim=(0, 1), ylim=(0, 1))
    yield axis
    plt.close(figure)


def place(axis, x, y, names):
    axis.plot(x, y, "o")
    return place_labels(axis, x, y, names)


def boxes(texts):
    """Of the names without their lines, as they will be drawn."""
    texts[0].figure.draw_without_rendering()
    return [Text.get_window_extent(text) for text in texts]


def test_a_name_alone_stands_to_the_right_of_its_point(axis):
    (text,) = place(axis, [0.5], [0.5], ["de"])
    (box,), point = boxes([text]), axis.transData.transform((0.5, 0.5))
    assert text.get_text() == "de"
    assert point[0] < box.x0 < point[0] + 12 and box.y0 < point[1] < box.y1
    assert not text.arrow_patch.get_visible()


def test_at_the_right_edge_a_name_moves_to_the_left(axis):
    (text,) = place(axis, [0.99], [0.5], ["deutsch"])
    assert boxes([text])[0].x1 < axis.transData.transform((0.99, 0.5))[0]


def test_names_of_a_cluster_cover_neither_each_other_nor_any_point(axis):
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0.45, 0.55, size=(2, 12))
    texts = place(axis, x, y, [f"l{n}" for n in range(12)])
    assert len(texts) == 12
    found, window = boxes(texts), axis.get_window_extent()
    points = axis.transData.transform(np.column_stack([x, y]))
    for n, box in enumerate(found):
        assert not any(box.overlaps(other) for other in found[:n])
        assert not any(box.contains(*point) for point in points)
        assert window.x0 <= box.x0 and box.x1 <= window.x1
    assert any(text.arrow_patch.get_visible() for text in texts)


def test_a_name_without_room_is_left_out(axis):
    long = "x" * 200
    assert [text.get_text() for text in place(axis, [0.3, 0.6], [0.5] * 2, [long, "a"])] == ["a"]
    assert [text.get_text() for text in axis.texts] == ["a"]


def test_names_stay_where_they_are_when_the_figure_is_written(axis, tmp_path):
    (text,) = place(axis, [0.99], [0.99], ["de"])
    axis.figure.draw_without_rendering()
    once = axis.get_position().bounds, text.get_position()
    axis.figure.savefig(tmp_path / "a.svg")
    assert (axis.get_position().bounds, text.get_position()) == once


def test_letters_that_no_font_has_stay_text():
    def letters(name):
        return to_svg(draw_scatter([Points("words", [1], [2], [name])], "x", "y")).count("<text")

    assert letters("Wort") == 0
    assert letters("\U0001f9ff") > 1  # so that a viewer with such a font sees them
