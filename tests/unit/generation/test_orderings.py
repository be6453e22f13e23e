"""The orderings: lengths and orders that a model can follow, and what each needs."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.batch import source_side
from fairseq_xling.generation.orderings import Sources, orderings
from fairseq_xling.models.auxiliary.order import Proposal
from fairseq_xling.models.auxiliary.relative import first_place

LIMIT = 24


def sources_of(models, sample, limit=LIMIT):
    """The sentences of ``sample`` below the TRILayer."""
    net_input = sample["net_input"]
    src = source_side(net_input["src_tokens"], net_input["src_lengths"], 0)
    with torch.no_grad():
        middles = [model.encoder.lower(src, ("en", "de"))[-1] for model in models]
    return Sources(src, net_input["src_lengths"], middles, 1, limit, net_input)


def options(count=1, beam=10):
    return SimpleNamespace(length_candidates=count, order_beam=beam)


def test_the_identity_has_the_lengths_of_the_sources(make_model, make_sample):
    models = [make_model()]
    found = orderings["identity"](options(), models)(sources_of(models, make_sample([7, 8], [])))
    assert found.lengths.tolist() == [4, 2]
    assert (found.order, found.log_scores) == (None, None)


def test_the_oracle_gives_back_what_the_data_folder_says(make_model, make_sample):
    models = [make_model()]
    sample = make_sample([7, 8], [9], orders=[[0, 2, 1, 1, 3], [0, 2]])
    found = orderings["oracle"](options(), models)(sources_of(models, sample))
    assert found.lengths.tolist() == [5, 2]
    assert found.order.tolist() == [[0, 2, 1, 1, 3], [0, 2, -1, -1, -1]]


def test_the_oracle_says_where_there_is_nothing_to_read(make_model, make_sample):
    models = [make_model()]
    with pytest.raises(UserError, match=r"^`--ordering oracle` reads the word alignments of a dat"):
        orderings["oracle"](options(), models)(sources_of(models, make_sample([7])))


@pytest.mark.parametrize("count", [1, 4])
def test_predicted_orders_lie_inside_the_source_and_keep_the_frame(make_model, make_sample, count):
    models = [make_model("order")]
    sources = sources_of(models, make_sample(list(range(10, 20)), [7], []))
    found = orderings["predicted"](options(count), models)(sources)
    assert found.lengths.shape == found.log_scores.shape == (3 * count,)
    assert found.order.shape == (3 * count, int(found.lengths.max()))
    for row, length in enumerate(found.lengths.tolist()):
        order, last = found.order[row, :length].tolist(), int(sources.lengths[row // count]) - 1
        assert 2 <= length <= LIMIT
        assert order[0] == 0
        assert order[-1] == last
        assert all(-1 <= place <= last for place in order)
    assert (found.log_scores <= 0).all()


def test_a_proposing_head_is_asked_for_more_and_for_fewer_words(make_model, make_sample):
    models = [make_model("order")]
    sources = sources_of(models, make_sample([7, 8, 9]))
    asked = []

    def propose(shift):
        asked.append(shift)
        length = 5 + shift
        order = torch.tensor([[0, *[1] * (length - 2), 4]])
        return Proposal(order, torch.tensor([length]), torch.tensor([-float(len(asked))]))

    models[0].auxiliary["order"].propose = lambda *given: [propose(shift) for shift in given[-1]]
    found = orderings["predicted"](options(5), models)(sources)
    assert asked == [0, -1, 1, -2, 2]
    assert found.lengths.tolist() == [5, 4, 6, 3, 7]
    assert found.log_scores.tolist() == [-1, -2, -3, -4, -5]
    assert found.order[1].tolist() == [0, 1, 1, 4, -1, -1, -1]


def test_a_proposal_longer_than_the_positions_is_cut_and_still_ends(make_model, make_sample):
    models = [make_model("order")]
    sources = sources_of(models, make_sample([7, 8, 9], [10]), limit=4)
    order = torch.tensor([[0, 1, 1, 2, 3, 4], [0, 1, 2, -1, -1, -1]])
    proposal = Proposal(order, torch.tensor([6, 3]), torch.zeros(2))
    models[0].auxiliary["order"].propose = lambda *arguments: [proposal]
    found = orderings["predicted"](options(), models)(sources)
    assert found.lengths.tolist() == [4, 3]
    assert found.order.tolist() == [[0, 1, 1, 4], [0, 1, 2, -1]]


@pytest.mark.parametrize("count", [1, 4])
def test_orders_are_permutations_of_a_part_of_the_source_inside_the_frame(
    make_model, make_sample, count
):
    model = make_model("relative")
    sources = sources_of([model], make_sample(list(range(10, 20)), [7], []))
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
    sources = sources_of([model], make_sample([10, 11, 12, 13], [14, 15]))
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


@pytest.mark.parametrize(
    ("ordering", "head", "other"),
    [("predicted", "order", ""), ("predicted", "order", "nsp"), ("relative", "relative", "order")],
)
def test_models_that_cannot_be_ordered_so_are_refused(make_model, ordering, head, other):
    rule = f"`--ordering {ordering}` needs a model trained with `--auxiliary {head}`, got one with "
    with pytest.raises(UserError, match=f"^{rule}{other or 'none'}$"):
        orderings[ordering](options(), [make_model(other)])
    rule = f"`--ordering {ordering}` reads the order from one model, so `--path` must name one, got"
    with pytest.raises(UserError, match=f"^{rule} 2$"):
        orderings[ordering](options(), [make_model(head)] * 2)
