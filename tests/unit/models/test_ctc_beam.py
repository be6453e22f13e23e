"""The beam search over prefixes, against all alignments."""

import collections
import itertools
import math

import pytest
import torch

from fairseq_xling.models.ctc_beam import prefix_beam

WORDS = 3


def every_translation(log_probs, length):
    """By translation its log-probability, summed over all alignments; word 0 is the blank."""
    found = collections.defaultdict(lambda: -math.inf)
    for path in itertools.product(range(WORDS + 1), repeat=length):
        text = tuple(
            word for n, word in enumerate(path) if word and (n == 0 or path[n - 1] != word)
        )
        total = sum(float(log_probs[n, word]) for n, word in enumerate(path))
        found[text] = math.log(math.exp(found[text]) + math.exp(total))
    return found


def search(log_probs, lengths, beam, choices=WORDS):
    """``log_probs`` (R, S, 1 + WORDS): words 1 to WORDS, of which a slot may add the best."""
    scores, tokens = log_probs[..., 1:].topk(choices, 2)
    return prefix_beam(tokens + 1, scores, log_probs[..., 0], torch.tensor(lengths), beam)


def texts(found, row):
    return [tuple(word for word in line if word >= 0) for line in found.tokens[row].tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_every_translation_with_its_probability(seed):
    generator = torch.Generator().manual_seed(seed)
    lengths = [4, 1, 3]
    log_probs = torch.randn(3, 4, 1 + WORDS, generator=generator, dtype=torch.double) * 2
    log_probs = log_probs.log_softmax(-1)
    found = search(log_probs, lengths, beam=150)
    for row, length in enumerate(lengths):
        expected = every_translation(log_probs[row], length)
        there = found.nll[row] < 1e20
        scores = zip(texts(found, row), (-found.nll[row]).tolist(), there, strict=True)
        named = {text: score for text, score, real in scores if real}
        assert int(there.sum()) == len(named) and named.keys() == expected.keys()
        for text, score in expected.items():
            assert named[text] == pytest.approx(score, abs=1e-4)
        assert found.nll[row][there].exp().reciprocal().sum() == pytest.approx(1, abs=1e-4)
        assert (found.nll[row].diff() >= 0).all()


def test_words_say_which_slot_added_them():
    log_probs = torch.full((1, 5, 1 + WORDS), -9.0)
    for slot, word in enumerate((0, 2, 2, 0, 2)):
        log_probs[0, slot, word] = 0.0
    found = search(log_probs.log_softmax(-1), [5], beam=3)
    assert texts(found, 0)[0] == (2, 2)
    assert found.slots[0, 0].tolist()[:2] == [1, 4]


def test_a_sentence_without_slots_writes_nothing():
    found = prefix_beam(
        torch.ones(1, 1, 1, dtype=torch.long), torch.zeros(1, 1, 1), torch.zeros(1, 1),
        torch.tensor([0]), 2,
    )  # fmt: skip
    assert texts(found, 0)[0] == () and found.nll[0, 0] == 0
