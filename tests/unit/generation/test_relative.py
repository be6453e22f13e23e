"""The ordering ``relative``: permutations of a part of the source, of the head trained for it."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.batch import source_side
from fairseq_xling.generation.orderings import Sources, orderings
from fairseq_xling.models.auxiliary.relative import first_place


def options(count=1, beam=10):
    return SimpleNamespace(length_candidates=count, order_beam=beam)


def sources_of(model, sample):
    net_input = sample["net_input"]
    src = source_side(net_input["src_tokens"], net_input["src_lengths"], 0)
    with torch.no_grad():
        middle = model.encoder.lower(src, ("en", "de"))[-1]
    return Sources(src, net_input["src_lengths"], [middle], 1, 24, net_input)


@pytest.mark.parametrize("count", [1, 4])
def test_orders_are_permutations_of_a_part_of_the_source_inside_the_frame(
    make_model, make_sample, count
):
    model = make_model("relative")
    sources = sources_of(model, make_sample(list(range(10, 20)), [7], []))
    with torch.no_grad():
        found = orderings["relative"](options(count), [model])(sources)
    assert found.lengths.shape == (3 * count,)
    for row, length in enumerate(found.lengths.tolist()):
        order, last = found.order[row, :length].tolist(), int(sources.lengths[row // count]) - 1
        assert (order[0], order[-1]) == (0, last)
        assert len(set(order)) == length <= last + 1
        assert all(0 < place < last for place in order[1:-1])
        assert (found.order[row, length:] == -1).all()
    assert len(set(found.lengths.tolist())) > 1


def test_what_is_kept_and_how_it_is_ordered_are_the_head_s(make_model, make_sample):
    """Token 3 is dropped for sure, and every pair turns round by habit."""
    model = make_model("relative")
    head = model.auxiliary["relative"]
    with torch.no_grad():
        for module in (head.order.query, head.order.key, head.target_language):
            for parameter in module.parameters():
                parameter.zero_()
        head.order.habit.fill_(-1.0)
    sources = sources_of(model, make_sample([10, 11, 12, 13], [14, 15]))
    keep = torch.tensor([[-9.0, 9.0]]).repeat(2, 6, 1)
    keep[0, 3] = torch.tensor([9.0, -9.0])
    head.keep.forward = lambda words: keep
    with torch.no_grad():
        found = orderings["relative"](options(2, beam=1), [model])(sources)
    assert found.order.tolist()[0] == [0, 4, 2, 1, 5]
    assert found.order.tolist()[2] == [0, 2, 1, 3, -1]
    assert found.lengths.tolist() == [5, 4, 4, 3]  # and with one token less
    assert found.log_scores[0] == pytest.approx(0.0, abs=1e-4)
    assert found.log_scores[1] == pytest.approx(-18.0, abs=1e-4)


def test_a_source_token_stands_where_its_first_target_token_stands():
    order = torch.tensor([[0, 3, 1, 3, -1, 4], [0, 2, 2, -1, -1, -1]])
    real = torch.tensor([[True] * 6, [True, True, True, False, False, False]])
    assert first_place(order, real, 5).tolist() == [[0, 2, -1, 1, 5], [0, -1, 1, -1, -1]]


def test_mistakes_are_named(make_model):
    with pytest.raises(UserError) as error:
        orderings["relative"](options(), [make_model("order")])
    assert str(error.value) == (
        "`--ordering relative` needs a model trained with `--auxiliary relative`, got one with "
        "order"
    )
    with pytest.raises(UserError) as error:
        orderings["relative"](options(), [make_model("relative")] * 2)
    assert str(error.value) == (
        "`--ordering relative` reads the order from one model, so `--path` must name one, got 2"
    )
