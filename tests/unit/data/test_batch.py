import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import collate, pad_rows, source_side, target_side
from fairseq_xling.data.example import Example
from fairseq_xling.data.folder import PAD


def example(tokens, *, lang=0, predict=(), order=None, target=None, extra=None, **fields):
    def side(ids, **more):
        langs = np.full(len(ids), lang)
        return {"tokens": np.array(ids), "langs": langs, "positions": np.arange(len(ids)), **more}

    target = tokens if target is None else target
    chosen = np.isin(np.arange(len(target)), predict)
    order = None if order is None else np.array(order)
    arrays = {name: np.array(value) for name, value in fields.items()}
    return Example(side(tokens, **arrays), side(target, predict=chosen), order, extra or {})


def slow_pad(rows, fill):
    width = max(map(len, rows))
    return [list(row) + [fill] * (width - len(row)) for row in rows]


def test_rows_are_padded_at_their_end():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 99, n) for n in (3, 0, 7, 1)]
    assert pad_rows(rows, -5).tolist() == slow_pad([row.tolist() for row in rows], -5)
    assert pad_rows([np.array([True]), np.array([], dtype=bool)], 0).tolist() == [[True], [False]]


@pytest.fixture
def batch():
    examples = [
        example([0, 7, 8, 9, 2], predict=[1, 3], lang=1),
        example([0, 6, 2], predict=[1]),
    ]
    return collate(examples, [0, 1], [40, 30], ("en", "de"))


def test_a_short_row_is_filled_with_padding_that_the_mask_marks(batch):
    src, tgt = batch["net_input"]["src"], batch["net_input"]["tgt"]
    assert src["tokens"].tolist() == [[0, 7, 8, 9, 2], [0, 6, 2, PAD, PAD]]
    assert src["langs"].tolist() == [[1] * 5, [0] * 5]
    assert src["positions"].tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, 0, 0]]
    assert src["padding_mask"].tolist() == [[False] * 5, [False] * 3 + [True] * 2]
    assert tgt["padding_mask"].tolist() == src["padding_mask"].tolist()
    assert {name: t.dtype for name, t in src.items() if name != "padding_mask"} == {
        name: torch.int64 for name in ("tokens", "langs", "positions")
    }


def test_the_target_is_w_where_it_is_predicted_and_padding_elsewhere(batch):
    assert batch["target"].tolist() == [[PAD, 7, PAD, 9, PAD], [PAD, 6, PAD, PAD, PAD]]
    assert (batch["target"] != PAD).tolist() == batch["net_input"]["tgt"]["predict"].tolist()


def test_a_batch_says_its_size_its_rows_and_its_pair(batch):
    assert (batch["nsentences"], batch["ntokens"]) == (2, 8)
    assert batch["id"].tolist() == [40, 30] and batch["objective"].tolist() == [0, 1]
    assert batch["net_input"]["pair"] == ("en", "de")


def test_what_no_example_has_is_absent():
    batch = collate([example([0, 6, 2]), example([0, 7, 2])], [0, 0], [0, 1], None)
    net_input = batch["net_input"]
    assert set(net_input) == {"src", "tgt"}
    assert "padding_mask" not in net_input["src"] and "padding_mask" not in net_input["tgt"]


def test_an_order_beside_identities_is_written_out_and_padded_with_none():
    examples = [
        example([0, 6, 7, 2], target=[0, 9, 2], order=[0, -1, 3]),
        example([0, 6, 7, 8, 2]),
    ]
    order = collate(examples, [0, 1], [0, 1], None)["net_input"]["order"]
    assert order.tolist() == [[0, -1, 3, -1, -1], [0, 1, 2, 3, 4]]


def test_source_and_target_are_padded_each_for_itself():
    examples = [
        example([0, 6, 7, 8, 2], target=[0, 2], order=[0, 4]),
        example([0, 2], target=[0, 9, 2], order=[0, -1, 1]),
    ]
    net_input = collate(examples, [0, 0], [0, 1], None)["net_input"]
    assert net_input["src"]["padding_mask"].sum(1).tolist() == [0, 3]
    assert net_input["tgt"]["padding_mask"].sum(1).tolist() == [1, 0]


def test_a_field_of_one_objective_is_zero_in_the_rows_of_others():
    examples = [example([0, 6, 2]), example([0, 7, 8, 2], attn_group=[0, 1, 1, 2])]
    src = collate(examples, [0, 1], [0, 1], None)["net_input"]["src"]
    assert src["attn_group"].tolist() == [[0, 0, 0, 0], [0, 1, 1, 2]]


@pytest.mark.parametrize("first", [True, False])
def test_an_extra_of_one_objective_keeps_its_values_wherever_it_stands(first):
    weights = np.array([0.25, 0.5], dtype=np.float32)
    examples = [example([0, 6, 2], extra={"weights": weights}), example([0, 7, 2])]
    examples = examples if first else examples[::-1]
    extra = collate(examples, [0, 1], [0, 1], None)["net_input"]["extra"]
    assert extra["weights"].dtype == torch.float32
    assert sorted(extra["weights"].tolist()) == [[0.0, 0.0], [0.25, 0.5]]


def test_no_two_rows_of_a_side_share_memory():
    """Such tensors cannot be copied to pinned memory, which feeds GPUs."""
    for lengths in ([3, 3], [3, 2]):
        tokens = torch.full((2, 3), 7)
        sides = source_side(tokens, torch.tensor(lengths), 1), target_side(torch.tensor(lengths), 1)
        for side in sides:
            assert {"langs", "positions"} <= set(side)
            for tensor in side.values():
                before = tensor[1].clone()
                tensor[0] = 1 - tensor[0].long()
                assert torch.equal(tensor[1], before)
