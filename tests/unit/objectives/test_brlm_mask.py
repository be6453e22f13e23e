import numpy as np
import pytest

from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import MASK, SPECIALS, UNK
from fairseq_xling.objectives.brlm import BridgeMaskedLM
from tests.framed_rows import pair

VOCABULARY = Vocabulary({"en": 60, "de": 60}, {"en": 0, "de": 1})


@pytest.fixture
def brlm(options):
    return lambda **changes: BridgeMaskedLM(options(**changes), VOCABULARY)


def drawn(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 15, 2)
    source, target = (rng.integers(SPECIALS, 60, n) for n in lengths)
    source[rng.random(lengths[0]) < 0.1] = UNK
    target[rng.random(lengths[1]) < 0.1] = UNK
    return pair(source, target, [0, *rng.integers(-1, lengths[0] + 1, lengths[1]), lengths[0] + 1])


def bridges(one):
    """Source positions of words that some target word is aligned with, by going through links."""
    source, target = one.source.tokens, one.target.tokens
    return {
        int(i)
        for u, i in enumerate(one.order)
        if i >= 0 and target[u] >= SPECIALS and source[i] >= SPECIALS
    }


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_both_ends_of_links_are_hidden_and_predicted_and_nothing_else(brlm, share):
    objective, count, possible = brlm(mask_prob=share), 0, 0
    for seed in range(300):
        one = drawn(seed)
        length, rng = len(one.source.tokens), np.random.default_rng(seed)
        example = objective(one, rng)
        chosen = example.tgt["predict"]
        hidden = {int(i) for i in np.flatnonzero(chosen[:length])}
        assert hidden <= bridges(one)
        expected = [
            u
            for u, i in enumerate(one.order)
            if int(i) in hidden and one.target.tokens[u] >= SPECIALS
        ]
        assert np.flatnonzero(chosen[length:]).tolist() == expected
        assert all(any(one.order[u] == i for u in expected) for i in hidden)
        both = np.concatenate([one.source.tokens, one.target.tokens])
        assert example.tgt["tokens"].tolist() == both.tolist()
        assert (example.src["tokens"][~chosen] == both[~chosen]).all()
        count, possible = count + len(hidden), possible + len(bridges(one))
    assert abs(count / possible - share) < 3 * np.sqrt(share * (1 - share) / possible) + 1e-9


def test_hidden_words_become_masks_words_or_stay_as_in_mlm(brlm):
    one = pair(range(6, 26), range(30, 50), [0, *range(20, 0, -1), 21])
    objective, rng = brlm(mask_prob=1.0), np.random.default_rng(0)
    hidden = np.concatenate([objective(one, rng).src["tokens"] for _ in range(200)])
    masks = (hidden == MASK).sum() / (200 * 40)
    assert abs(masks - 0.8) < 3 * np.sqrt(0.8 * 0.2 / 8000)


def test_positions_start_again_with_the_second_side_and_nothing_is_reordered(brlm):
    example = brlm()(pair([7, 8], [20], [0, 2, 3]), np.random.default_rng(0))
    assert example.src["positions"].tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert example.tgt["langs"].tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert example.order is None and "attn_group" not in example.src


@pytest.mark.parametrize("order", [[0, -1, -1, 3], [-1, -1, -1, -1]])
def test_without_links_nothing_is_hidden(brlm, order):
    example = brlm(mask_prob=1.0)(pair([7, 8], [20, 21], order), np.random.default_rng(0))
    assert not example.tgt["predict"].any()
