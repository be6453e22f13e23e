import numpy as np
import pytest
import torch
from scipy import sparse

from fairseq_xling.analysis import glove as module
from fairseq_xling.analysis.glove import GloveOptions, cooccurrences, train_glove
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder

OPTIONS = GloveOptions(dim=8, window=4, epochs=3, batch=64)


@pytest.mark.parametrize("window", [1, 3, 50])
def test_counts_are_those_of_a_loop_over_neighbours(tiny_corpus, monkeypatch, window):
    monkeypatch.setattr(module, "_BLOCK", 7)
    folder = DataFolder(tiny_corpus.path)
    files = [folder.mono("train", lang) for lang in ("en", "de")]
    expected = np.zeros((86, 86))
    for lang in ("en", "de"):
        for sentence in tiny_corpus.mono["train"][lang]:
            for i, a in enumerate(sentence):
                for j, b in enumerate(sentence):
                    if 0 < abs(i - j) <= window:
                        expected[a, b] += 1 / abs(i - j)
    np.testing.assert_allclose(cooccurrences(files, 86, window).toarray(), expected)


def planted(rank=3, size=40, seed=0):
    """Counts whose logarithm is a product of rank ``rank``, all of them frequent."""
    w = np.random.default_rng(seed).normal(size=(size, rank))
    return sparse.csr_matrix(np.exp(w @ w.T * 0.5 + 5))


def test_the_loss_falls_to_almost_nothing_where_the_logarithm_is_a_product():
    losses = []
    options = GloveOptions(dim=8, epochs=60, batch=128, lr=0.2, x_max=1)
    train_glove(planted(), options, losses.append)
    assert losses[-1] < 0.001 * losses[0] and len(losses) == 60


def test_it_depends_on_the_seed_alone_and_ids_that_never_occur_are_zero():
    counts = sparse.block_diag([sparse.csr_matrix((6, 6)), planted()]).tocsr()
    torch.manual_seed(1)
    first = train_glove(counts, OPTIONS)
    torch.manual_seed(2)
    assert np.array_equal(first, train_glove(counts, OPTIONS))
    assert not np.array_equal(first, train_glove(counts, GloveOptions(8, 4, 3, 64, seed=2)))
    assert first.dtype == np.float32 and not first[:6].any() and first[6:].any(1).all()


def test_text_without_neighbours_and_impossible_settings_are_refused():
    with pytest.raises(UserError, match="two subwords occur near each other, got none"):
        train_glove(sparse.csr_matrix((5, 5)), OPTIONS)
    with pytest.raises(UserError, match="GloVe: `window` must be at least 1, got 0"):
        GloveOptions(window=0)
