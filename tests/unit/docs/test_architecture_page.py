"""The drawing of the architecture: few boxes, arrows only downwards, none that is superfluous."""

import pytest

pytest.importorskip("grimp")


@pytest.fixture
def page(docs_module):
    return docs_module("architecture_page")


def test_a_person_can_read_the_drawing(page):
    graph = page.imports()
    layers = page.layers_of(graph)
    boxes = [box for layer in layers for box in layer]
    assert len(boxes) <= 17 and sum(map(len, page.reduced(graph).values())) <= 24
    shown = [name for box in boxes for name in page.TOGETHER.get(box, (box,))]
    assert sorted([*shown, page.CORE]) == page.packages()
    height = {box: -number for number, layer in enumerate(layers) for box in layer}
    assert all(height[box] > height[other] for box in boxes for other in graph[box])
    assert "checkpoints, engine" in graph["data"]  # by one import


def test_an_arrow_that_others_stand_for_is_left_out(page):
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}
    assert page.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}
    assert page.layers_of(graph) == [["a"], ["b"], ["c"], ["d"]]
