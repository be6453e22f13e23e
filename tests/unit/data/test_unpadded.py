"""Sizes of batches without padding; what stands where: `tests/unit/models/test_unpadded.py`."""

import numpy as np

from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.data.unpadded import rounded


def test_an_epoch_of_sentences_has_few_shapes():
    """Lengths as of novels, batches of 4,096 slots: 300,000 tokens."""
    rng = np.random.default_rng(1)
    lengths = np.sort(np.clip(rng.gamma(1.6, 40, 5000).astype(int), 4, 256))
    batches = [lengths[rows] for rows in cut(lengths, Limits(4096, None))]
    padded = {(len(rows), int(rows.max())) for rows in batches}
    unpadded = {rounded(int(rows.sum())) for rows in batches}
    assert len(batches) > 70
    assert len(padded) > 0.5 * len(batches) and len(unpadded) <= 12


def test_little_is_added():
    counts = np.arange(64, 100_000, 7)
    added = np.array([rounded(int(n)) for n in counts]) - counts
    assert (added >= 0).all() and (added < np.maximum(64, counts / 32)).all()
