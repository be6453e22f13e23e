import re

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.figure_file import check_figure, write_figure
from fairseq_xling.reports.plots import BarPanel, Bars, HeatPanel, draw_bars, draw_heat_maps

PANEL = BarPanel(
    ["en", "de"],
    [Bars("plain", [0.5, None], [0.1, None]), Bars("shifted", [0.6, 0.7])],
    "F1 (share)",
    chance=(0.1, "chance"),
)


def test_bars_stand_in_groups_with_names_axis_and_legend():
    (axis,) = draw_bars([PANEL]).axes
    assert axis.get_xlabel() == "F1 (share)"
    assert [label.get_text() for label in axis.get_yticklabels()] == ["en", "de"]
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert sorted(names) == ["chance", "plain", "shifted"]
    hatches = {bars[0].get_hatch() for bars in axis.containers if hasattr(bars, "patches")}
    assert len(hatches) == 2  # so that they differ without their colours


def test_a_missing_value_has_no_bar_and_whiskers_are_deviations():
    (axis,) = draw_bars([PANEL]).axes
    plain, shifted = axis.containers[-2:]
    assert [bar.get_width() for bar in plain] == [0.5]
    assert [bar.get_width() for bar in shifted] == [0.6, 0.7]
    ((low, high),) = [sorted(x) for x in plain.errorbar.lines[2][0].get_segments()[0].T[:1]]
    assert (round(low, 6), round(high, 6)) == (0.4, 0.6)


def test_names_are_written_once_in_a_row_of_panels():
    first, second = draw_bars([PANEL, PANEL]).axes
    assert first.yaxis.get_tick_params()["labelleft"]
    assert not second.yaxis.get_tick_params()["labelleft"]


def test_bars_stand_beside_their_names_where_the_last_has_none():
    names = ["one", "two", "three"]
    panels = [BarPanel(names, [Bars("x", values)], "x") for values in ([1, 2, 3], [1, 2, None])]
    left, right = draw_bars(panels).axes
    assert left.get_ylim() == right.get_ylim() == (2.5, -0.5)


MATRIX = [[0.0, 0.25, 1.0], [0.5, 0.75, 0.125]]


def drawn():
    words = {"xlabel": "layer of Y", "ylabel": "layer of X", "unit": "linear CKA"}
    return draw_heat_maps([HeatPanel(MATRIX, [0, 3], [1, 2, 4], **words)])


def test_axes_cells_and_colours_are_named():
    axis, scale = drawn().axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("layer of Y", "layer of X")
    assert scale.get_ylabel() == "linear CKA"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2", "4"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["0", "3"]
    cells = {text.get_position(): text.get_text() for text in axis.texts}
    assert cells[2, 0] == "1.00" and cells[0, 1] == ".50" and cells[1, 0] == ".25"
    bottom, top = axis.get_ylim()
    assert bottom > top  # the first row at the top, as in a table


def test_a_cell_that_was_not_measured_stays_empty_as_do_those_of_large_matrices():
    figure = draw_heat_maps([HeatPanel([[0.5] * 30] * 2, range(2), range(30))])
    assert not figure.axes[0].texts
    figure = draw_heat_maps([HeatPanel([[0.5, float("nan")]], ["a"], ["b", "c"])])
    assert [text.get_text() for text in figure.axes[0].texts] == [".50"]


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")])
def test_a_figure_is_the_same_file_each_time(tmp_path, name, start):
    write_figure(tmp_path / name, drawn)
    first = (tmp_path / name).read_bytes()
    write_figure(tmp_path / name, drawn)
    assert first.startswith(start) and (tmp_path / name).read_bytes() == first


def test_other_kinds_of_files_are_refused():
    with pytest.raises(
        UserError, match=r"`--figure` must end in .svg or .png or .pdf, got 'a.eps'"
    ):
        check_figure("a.eps")


def test_a_figure_gets_a_papers_width_and_fonts_that_publishers_take(tmp_path):
    shape = drawn().get_size_inches()
    height = 3.25 * shape[1] / shape[0]
    write_figure(tmp_path / "a.png", drawn, width=3.25)
    header = (tmp_path / "a.png").read_bytes()[16:24]
    pixels = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")
    assert pixels == pytest.approx((975, 300 * height), abs=1)
    write_figure(tmp_path / "a.pdf", drawn, width=3.25)
    pdf = (tmp_path / "a.pdf").read_bytes()
    write_figure(tmp_path / "a.pdf", drawn, width=3.25)
    assert (tmp_path / "a.pdf").read_bytes() == pdf
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    assert [float(x) for x in box.groups()] == pytest.approx([234, 72 * height], abs=0.01)
    assert pdf.startswith(b"%PDF") and b"/Type3" not in pdf
