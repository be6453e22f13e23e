"""Figures declared over a frame."""

import pytest

from fairseq_xling.results.charts import bars, curves, dots, heat_map, scatter
from fairseq_xling.results.frame import make_frame


@pytest.fixture
def frame():
    return make_frame(
        {"row": row, "layer": layer, "seed": seed, "measure": measure, "value": value + seed}
        | {"chance": 0.25, "x": layer + value, "target": f"{row}{layer}"}
        for measure in ("P@1", "MRR")
        for row, value in (("a", 1.0), ("b", 3.0))
        for layer in (0, 1)
        for seed in (1, 2)
    )


def axes_of(figure):
    return [axis for axis in figure.axes if axis.get_visible()]


def test_curves_have_a_panel_for_each_measure_and_bands_over_seeds(frame):
    figure = curves(frame, {"P@1": "share", "MRR": "rank"}, xlabel="layer", chance="chance {:.2f}")
    assert [axis.get_ylabel() for axis in axes_of(figure)] == ["share", "rank"]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes_of(figure)[0].lines}
    assert lines == {"a": [2.5, 2.5], "b": [4.5, 4.5], "chance 0.25": [0.25, 0.25]}
    assert len(axes_of(figure)[0].collections) == 2
    alone = curves(frame[frame["seed"] == 1], "y", xlabel="layer", chosen={"MRR": (1, "best")})
    assert not axes_of(alone)[0].collections
    assert [len(axis.lines) for axis in axes_of(alone)] == [2, 3]


def test_a_line_looks_the_same_in_every_figure_that_knows_all_lines(frame):
    own = frame[frame["row"] == "b"]
    for styles, same in (((), False), (("a", "b"), True)):
        (line, *_) = axes_of(curves(own, "y", xlabel="layer", styles=styles))[0].lines
        both = axes_of(curves(frame, "y", xlabel="layer"))[0].lines
        assert (line.get_color() == both[1].get_color()) == same


def test_dots_and_bars_have_a_place_for_each_row(frame):
    for figure in (dots(frame, "x"), bars(frame, lambda rows: "x", series="layer")):
        assert len(axes_of(figure)) == 2
        names = [label.get_text() for label in axes_of(figure)[0].get_yticklabels()]
        assert names == ["a", "b"] and axes_of(figure)[0].get_xlabel() == "x"


def test_a_heat_map_has_the_means_and_a_scatter_plot_every_point(frame):
    share = frame.assign(value=[value / 10 for value in frame["value"]])
    figure = heat_map(share, row="row", column="layer", xlabel="layer", ylabel="", what="share")
    assert figure.axes[0].images[0].get_array().tolist() == [[0.25, 0.25], [0.45, 0.45]]
    (axis,) = scatter(frame, "x", "y", x="x").axes
    assert [len(line.get_xdata()) for line in axis.lines] == [8, 8]
