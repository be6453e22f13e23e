"""Nothing that is written in a figure leaves its canvas or overlaps something else."""

import itertools
from pathlib import Path

import pytest
from matplotlib.text import Text

from fairseq_xling.reports.figures import new_figure, styled
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import read_record

EXAMPLES = Path(__file__).parents[3] / "examples"
RECORDS = sorted(EXAMPLES.rglob("results/**/*.json"))
SLACK = 1.5  # pixels


def drawn_texts(figure):
    """What is written, each with its box in pixels; labels of ticks outside of a view are not."""
    styled(figure.draw_without_rendering)()
    left_out = set()
    for axes in figure.axes:
        if not axes.get_visible():
            left_out |= set(axes.findobj(Text))
        for axis in (axes.xaxis, axes.yaxis):
            shown = set(axis._update_ticks())
            for tick in {*axis.majorTicks, *axis.minorTicks} - shown:
                left_out |= {tick.label1, tick.label2}
    texts = [text for text in figure.findobj(Text) if text not in left_out]
    texts = [text for text in texts if text.get_visible() and text.get_text().strip()]
    # Without the line that leads from a name to its point.
    renderer = figure._get_renderer()
    return [(text.get_text(), Text.get_window_extent(text, renderer)) for text in texts]


def faults(figure):
    """Texts that leave the canvas, and pairs that overlap."""
    texts, canvas = drawn_texts(figure), figure.bbox.padded(SLACK)
    found = [
        text
        for text, box in texts
        if box.x0 < canvas.x0 or box.x1 > canvas.x1 or box.y0 < canvas.y0 or box.y1 > canvas.y1
    ]
    for (one, box), (other, beside) in itertools.combinations(texts, 2):
        wide = min(box.x1, beside.x1) - max(box.x0, beside.x0)
        high = min(box.y1, beside.y1) - max(box.y0, beside.y0)
        if min(wide, high) > SLACK:
            found.append(f"{one} / {other}")
    return found


def test_texts_that_overlap_or_leave_the_canvas_are_found():
    figure = styled(new_figure)((4, 3))
    axes = figure.subplots()
    assert faults(figure) == []
    axes.set_title("far too long " * 9)
    axes.text(0.5, 0.5, "one")
    axes.text(0.5, 0.5, "other")
    assert faults(figure) == ["far too long " * 9, "one / other"]


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_all_that_a_page_writes_can_be_read(path):
    for part in parts(read_record(path)):
        if part.section.chart is not None:
            assert faults(styled(part.figure)()) == [], part.section.title
