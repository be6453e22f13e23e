import numpy as np
import pytest

from fairseq_xling.data.folder import MASK, SPECIALS
from fairseq_xling.objectives.masking import choose, corrupt

TOKENS = 100_000


def within_three_sigma(count, share, total):
    return abs(count - share * total) <= 3 * np.sqrt(share * (1 - share) * total)


@pytest.mark.parametrize("length", [1, 3, 7, 20, 1000])
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_the_share_is_right_on_average_however_short_sentences_are(length, share):
    rng = np.random.default_rng(1)
    rows = min(TOKENS // length, 20_000)
    chosen = sum(choose(np.full(length, 9), share, rng).sum() for _ in range(rows))
    # Rounding at random spreads less than independent choices do, so this is generous.
    assert within_three_sigma(chosen, share, rows * length)


def test_a_sentence_has_its_share_rounded_down_or_up_and_never_more():
    rng = np.random.default_rng(1)
    counts = {int(choose(np.full(10, 9), 0.15, rng).sum()) for _ in range(200)}
    assert counts == {1, 2}


def test_specials_are_never_chosen_and_words_all_alike():
    rng = np.random.default_rng(1)
    tokens = np.array([0, 7, 3, 9, 2, 8, 1, 5, 4, 6, 2])
    chosen = sum(choose(tokens, 0.3, rng).astype(int) for _ in range(10_000))
    assert chosen[tokens < SPECIALS].sum() == 0
    assert all(within_three_sigma(n, 0.3, 10_000) for n in chosen[tokens >= SPECIALS])


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 8)])
def test_none_or_all_can_be_chosen(share, expected):
    tokens = np.array([0, *range(6, 14), 2])
    assert choose(tokens, share, np.random.default_rng(0)).sum() == expected


def test_nothing_can_be_chosen_among_specials():
    assert not choose(np.array([0, 2]), 1.0, np.random.default_rng(0)).any()


def corrupted(**settings):
    rng = np.random.default_rng(1)
    tokens = np.full(TOKENS, 50)
    chosen = rng.random(TOKENS) < 0.5
    before = tokens.copy()
    hidden = corrupt(tokens, chosen, 1006, rng, **settings)
    assert (tokens == before).all()  # the input is not changed
    assert (hidden[~chosen] == 50).all()
    return hidden[chosen]


def test_eighty_per_cent_become_masks_ten_stay_and_ten_are_random():
    hidden = corrupted()
    total = len(hidden)
    masks, same = (hidden == MASK).sum(), (hidden == 50).sum()
    assert within_three_sigma(masks, 0.8, total)
    assert within_three_sigma(same, 0.1 + 0.1 / 1000, total)  # a random id may be the same
    assert within_three_sigma(total - masks - same, 0.1 * 999 / 1000, total)


def test_the_shares_are_settings():
    assert (corrupted(leave=0.0, random=0.0) == MASK).all()
    assert (corrupted(leave=1.0, random=0.0) == 50).all()
    hidden = corrupted(leave=0.25, random=0.5)
    assert within_three_sigma((hidden == MASK).sum(), 0.25, len(hidden))


def test_random_ids_are_words_of_the_whole_vocabulary_all_alike():
    hidden = corrupted(leave=0.0, random=1.0)
    assert hidden.min() == SPECIALS and hidden.max() == 1005
    counts = np.bincount(hidden, minlength=1006)[SPECIALS:]
    assert counts.min() > 10 and counts.max() < 120  # 50 each on average


def test_random_ids_can_be_restricted():
    own = np.array([7, 70, 700])
    rng = np.random.default_rng(0)
    hidden = corrupt(np.full(3000, 9), np.ones(3000, bool), own, rng, leave=0.0, random=1.0)
    values, counts = np.unique(hidden, return_counts=True)
    assert values.tolist() == own.tolist() and counts.min() > 850
