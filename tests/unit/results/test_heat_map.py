"""Heat maps say what their cells are, and figures become files as their names ask."""

import re

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.results.figure_file import check_figure, write_figure
from fairseq_xling.results.heat_map import draw_heat_map

MATRIX = [[0.0, 0.25, 1.0], [0.5, 0.75, 0.125]]


def drawn():
    return draw_heat_map(MATRIX, [0, 3], [1, 2, 4], "layer of Y", "layer of X", "linear CKA")


def test_axes_cells_and_colours_are_named():
    axis, scale = drawn().axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("layer of Y", "layer of X")
    assert scale.get_ylabel() == "linear CKA"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1", "2", "4"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["0", "3"]
    cells = {text.get_position(): text.get_text() for text in axis.texts}
    assert cells[2, 0] == "1.00" and cells[0, 1] == ".50" and cells[1, 0] == ".25"
    bottom, top = axis.get_ylim()
    assert bottom < top  # the first row at the bottom


def test_a_cell_that_was_not_measured_stays_empty():
    figure = draw_heat_map([[0.5, float("nan")]], ["a"], ["b", "c"], "x", "y", "share")
    assert [text.get_text() for text in figure.axes[0].texts] == [".50"]


def test_large_matrices_have_no_numbers():
    figure = draw_heat_map([[0.5] * 30] * 2, range(2), range(30), "x", "y", "CKA")
    assert not figure.axes[0].texts


@pytest.mark.parametrize(
    ("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")]
)
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
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    assert [float(x) for x in box.groups()] == pytest.approx([234, 72 * height], abs=0.01)
    assert b"/Type3" not in pdf
