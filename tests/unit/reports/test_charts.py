"""Figures declared over rows."""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.charts import draw_chart
from fairseq_xling.reports.record import KINDS, Chart

ROWS = [
    {"row": row, "layer": layer, "seed": seed, "measure": measure, "value": value + seed}
    | {"chance": 0.25, "x": layer + value, "target": f"{row}{layer}", "unit": "share"}
    for measure in ("P@1", "MRR")
    for row, value in (("a", 1.0), ("b", 3.0))
    for layer in (0, 1)
    for seed in (1, 2)
]


def axes_of(chart, rows=ROWS):
    return [axis for axis in draw_chart(chart, rows).axes if axis.get_visible()]


def test_curves_have_a_panel_for_each_measure_and_bands_over_seeds():
    axes = axes_of(Chart("curve", ylabel="{measure} ({unit})", xlabel="layer", chance="{chance}"))
    assert [axis.get_ylabel() for axis in axes] == ["P@1 (share)", "MRR (share)"]
    assert [axis.get_title() for axis in axes] == ["P@1", "MRR"]
    lines = {line.get_label(): list(line.get_ydata()) for line in axes[0].lines}
    assert lines == {"a": [2.5, 2.5], "b": [4.5, 4.5], "0.25": [0.25, 0.25]}
    assert len(axes[0].collections) == 2
    alone = axes_of(Chart("curve", {"seed": 1}, marks={"MRR": [1, "best"]}))
    assert not alone[0].collections and [len(axis.lines) for axis in alone] == [2, 3]


def test_a_line_looks_the_same_in_every_panel_and_in_a_figure_that_knows_all():
    of_b = [row for row in ROWS if row["measure"] == "P@1" or row["row"] == "b"]
    first, second = axes_of(Chart("curve"), of_b)
    assert first.lines[1].get_color() == second.lines[0].get_color()
    known = axes_of(Chart("curve", {"row": "b"}, rows=["a", "b"]))
    assert known[0].lines[0].get_color() == first.lines[1].get_color()


@pytest.mark.parametrize("kind", ["dots", "bars"])
def test_dots_and_bars_have_a_place_for_each_row(kind):
    axes = axes_of(Chart(kind, xlabel="x", series="layer", rows=["b", "a"]))
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["b", "a"]
    assert [axis.get_xlabel() for axis in axes] == ["x", "x"]


def test_one_seed_is_drawn_as_bars_and_single_rows_share_a_panel():
    one = [row for row in ROWS if row["seed"] == 1 and row["layer"] == 0]
    assert len(axes_of(Chart("dots"), one)[0].patches) == 2
    alone = [{**row, "row": "a", "target": row["row"]} for row in one if row["measure"] == "MRR"]
    (axis,) = axes_of(Chart("dots", panel="target", xlabel="MRR"), alone)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b"]


def test_a_heat_map_has_the_means_and_a_scatter_plot_every_point():
    share = [{**row, "value": row["value"] / 10} for row in ROWS if row["measure"] == "MRR"]
    axes = axes_of(Chart("heat", x="layer", unit="share"), share)
    assert axes[0].images[0].get_array().round(3).tolist() == [[0.25, 0.25], [0.45, 0.45]]
    (axis,) = axes_of(Chart("scatter", x="x", xlabel="x", ylabel="y"))
    assert [len(line.get_xdata()) for line in axis.lines] == [8, 8]


def test_heat_maps_have_scales_of_their_own_and_no_more_height_than_their_rows():
    rows = [
        {"row": row, "layer": 0, "measure": f"{name} {n}", "value": value, "low": low, "high": 1.0}
        for name, low, value, lines in (("sign", -1.0, 1.0, "ab"), ("p", 0.0, 0.5, "abcdefgh"))
        for row in lines
        for n in (1, 2)
    ]
    axes = axes_of(Chart("heat", scale=("low", "high"), panel="measure"), rows)
    images = [axis for axis in axes if axis.images]
    assert [axis.images[0].get_clim() for axis in images] == [(-1, 1), (-1, 1), (0, 1), (0, 1)]
    low, high = images[0].get_gridspec().get_height_ratios()
    assert low < high
    assert [text.get_text() for text in images[0].texts] == ["+1", "+1"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_drawn_is_one_line(kind):
    with pytest.raises(UserError, match="a chart must have 1 to 100 panels, got 0"):
        draw_chart(Chart(kind, {"row": "none"}), ROWS)
    many = [{"measure": str(n), "value": n, "layer": 0} for n in range(101)]
    with pytest.raises(UserError, match="got 101"):
        draw_chart(Chart(kind), many)
