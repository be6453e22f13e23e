import math

import numpy as np
import pytest
import torch

from fairseq_xling.analysis.bpw import bits_per_word, mask_positions


def test_masks_depend_on_seed_and_index_only():
    before = mask_positions(40, index=5, seed=7)
    np.random.seed(123)  # the global generator has no say
    torch.manual_seed(123)
    assert mask_positions(40, index=5, seed=7).tolist() == before.tolist()
    assert mask_positions(40, index=6, seed=7).tolist() != before.tolist()
    assert mask_positions(40, index=5, seed=8).tolist() != before.tolist()


def test_positions_are_distinct_sorted_and_inside_the_sentence():
    assert mask_positions(0, index=0, seed=7).size == 0
    for length in range(1, 60):
        positions = mask_positions(length, index=length, seed=7)
        assert len(positions) == max(1, round(0.15 * length))
        assert sorted(set(positions.tolist())) == positions.tolist()
        assert positions.min() >= 0
        assert positions.max() < length


def test_every_position_is_masked_equally_often():
    counts = np.bincount(
        np.concatenate([mask_positions(20, index=i, seed=7) for i in range(4000)]), minlength=20
    )
    assert counts.sum() == 4000 * 3
    expected, spread = 600, math.sqrt(4000 * 0.15 * 0.85)
    assert abs(counts - expected).max() < 4 * spread


def test_the_score_does_not_depend_on_the_pieces():
    log_probs = -torch.rand(100, generator=torch.Generator().manual_seed(0))
    assert bits_per_word(log_probs.split(1)) == pytest.approx(bits_per_word([log_probs]), rel=1e-12)
    assert bits_per_word([log_probs]) == pytest.approx(float(-log_probs.mean() / math.log(2)))
