import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from fairseq_xling.results.labels import place_labels


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
