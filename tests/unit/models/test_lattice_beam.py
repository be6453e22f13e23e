"""The beam search of a lattice, against all its paths and all their words."""

import collections
import itertools
import math

import pytest
import torch

from fairseq_xling.core.ranges import NATS
from fairseq_xling.models.emissions import Placed, Reading
from fairseq_xling.models.emissions.lattice import Lattice
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.lattice_beam import lattice_beam

WORDS = [7, 8, 9]
LENGTHS = [6, 2, 4, 3]


def random(seed, lengths=LENGTHS, choices=3):
    """Steps that are probabilities, and the likeliest ``choices`` words of each slot."""
    generator = torch.Generator().manual_seed(seed)
    slots = max(lengths)
    place = torch.arange(slots)
    later = (place > place[:, None]) & (place < torch.tensor(lengths)[:, None, None])
    steps = torch.randn(len(lengths), slots, slots, generator=generator, dtype=torch.double) * 2
    steps = steps.masked_fill(~later, -1e30).log_softmax(-1).masked_fill(~later, -1e30)
    shape = (len(lengths), slots, len(WORDS))
    scores = (torch.randn(shape, generator=generator, dtype=torch.double) * 2).log_softmax(-1)
    best = scores.topk(choices, 2)
    return steps, torch.tensor(WORDS)[best.indices], best.values


def every_translation(steps, tokens, log_probs, length):
    """By translation its log-probability, summed over all paths, one at a time."""
    found = collections.defaultdict(float)
    for size in range(length - 1):
        for slots in itertools.combinations(range(1, length - 1), size):
            way = sum(float(steps[u, v]) for u, v in itertools.pairwise((0, *slots, length - 1)))
            for chosen in itertools.product(range(tokens.shape[1]), repeat=size):
                text = tuple(int(tokens[v, c]) for v, c in zip(slots, chosen, strict=True))
                words = sum(float(log_probs[v, c]) for v, c in zip(slots, chosen, strict=True))
                found[text] += math.exp(way + words)
    return {text: math.log(value) for text, value in found.items()}


def search(given, lengths, beam):
    return lattice_beam(*given, torch.tensor(lengths), beam)


def texts(found, row):
    """By translation its log-probability, the likeliest first."""
    rows = zip(found.tokens[row].tolist(), found.nll[row].tolist(), strict=True)
    return {tuple(t for t in text if t >= 0): -nll for text, nll in rows if nll < 1e20}


@pytest.mark.parametrize("choices", [3, 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_every_translation_with_its_probability(seed, choices):
    given = random(seed, choices=choices)
    found = search(given, LENGTHS, beam=130)
    for row, length in enumerate(LENGTHS):
        expected = every_translation(*(part[row] for part in given), length)
        own = texts(found, row)
        assert own == pytest.approx(expected, abs=1e-6)
        assert list(own.values()) == sorted(own.values(), reverse=True)
        if choices == len(WORDS):
            assert sum(map(math.exp, own.values())) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_finds_the_best_with_their_probabilities(seed):
    """Twelve prefixes of each length of at most 81 are enough here."""
    given = random(seed)
    found = search(given, LENGTHS, beam=12)
    for row, length in enumerate(LENGTHS):
        expected = every_translation(*(part[row] for part in given), length)
        best = sorted(expected, key=lambda text: -expected[text])
        own = texts(found, row)
        assert list(own)[:3] == best[:3]
        assert all(own[text] == pytest.approx(expected[text], abs=1e-6) for text in own)


@pytest.mark.parametrize("beam", [12, 130])
@pytest.mark.parametrize("bonus", [-0.5, 1.0, 4.0])
def test_what_a_word_adds_counts_and_ends_no_search_too_soon(bonus, beam):
    """The best translations have all the words that fit, if a word adds much."""
    steps, tokens, log_probs = random(1)
    found = search((steps, tokens, log_probs + bonus), LENGTHS, beam)
    for row, length in enumerate(LENGTHS):
        plain = every_translation(steps[row], tokens[row], log_probs[row], length)
        expected = {text: value + bonus * len(text) for text, value in plain.items()}
        own = texts(found, row)
        assert max(own, key=own.get) == max(expected, key=expected.get)
        assert all(own[text] == pytest.approx(expected[text], abs=1e-6) for text in own)
        if bonus == 4.0:
            assert len(max(own, key=own.get)) == length - 2
        if beam == 130:
            assert len(own) == len(expected)


@pytest.mark.parametrize("bonus", [NATS.least, NATS.most])
def test_the_largest_bonus_is_no_number_too_large_in_single_precision(bonus):
    lengths = [120, 2, 50]
    steps, tokens, log_probs = (
        part.float() if part.is_floating_point() else part for part in random(2, lengths)
    )
    found = search((steps, tokens, log_probs + bonus), lengths, beam=4)
    for row, length in enumerate(lengths):
        own = texts(found, row)
        assert own and all(map(math.isfinite, own.values()))
        words = len(max(own, key=own.get))
        assert words > 0.7 * (length - 2) - 1 if bonus > 0 else words == 0


@torch.no_grad()
def test_the_emission_writes_what_the_search_finds():
    torch.manual_seed(5)
    size = 12
    model = Lattice(EncoderShape(2, size, 20, 2, 16, emission="lattice", upsample=2)).double()
    states = torch.randn(len(LENGTHS), max(LENGTHS), size, dtype=torch.double)
    placed = Placed({}, None, torch.tensor(LENGTHS))
    written = model.write([states], placed, [lambda x: x.clone()], Reading(beam=3, word_bonus=0.0))
    allowed = [3, *range(6, size)]  # <unk> and words
    words = states[..., allowed].log_softmax(-1).float()
    best = words.topk(len(allowed), 2)
    given = model.steps(states, placed.lengths), torch.tensor(allowed)[best.indices], best.values
    found = search(given, LENGTHS, beam=3)
    for row in range(len(LENGTHS)):
        own = {}
        for number in range(3 * row, 3 * row + 3):
            kept = written.kept[number]
            score = float(written.log_probs[number].sum())
            if score > -1e20:
                own[tuple(written.tokens[number][kept].tolist()[:-1])] = score
                assert written.tokens[number][kept][-1] == 2
        assert own == pytest.approx(texts(found, row), abs=1e-4)
