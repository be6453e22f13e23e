"""What a batch holds beside what `test_row_by_row.py` compares."""

import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import collate, pad_rows, source_side, target_side
from fairseq_xling.data.example import Example


def example(tokens, extra):
    none = np.zeros(len(tokens), dtype=int)
    side = {"tokens": np.array(tokens), "langs": none, "positions": np.arange(len(tokens))}
    return Example(side, {**side, "predict": none.astype(bool)}, None, extra)


def test_rows_are_padded_at_their_end():
    rows = [np.array(row, dtype=int) for row in ([4, 5], [], [6, 7, 8])]
    assert pad_rows(rows, -5).tolist() == [[4, 5, -5], [-5, -5, -5], [6, 7, 8]]
    assert pad_rows([np.array([True]), np.array([], dtype=bool)], 0).tolist() == [[True], [False]]


@pytest.mark.parametrize("first", [True, False])
def test_an_extra_of_one_objective_keeps_its_values_wherever_it_stands(first):
    weights = np.array([0.25, 0.5], dtype=np.float32)
    examples = [example([0, 6, 2], {"weights": weights}), example([0, 7, 2], {})]
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
