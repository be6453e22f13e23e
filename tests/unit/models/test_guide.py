"""Searches that follow an n-gram model, against all translations with the scores of all alignments
or paths and the model's."""

import math

import pytest
import torch

from fairseq_xling.data.arpa import read_arpa
from fairseq_xling.models.ctc_beam import prefix_beam
from fairseq_xling.models.guide import Guide
from fairseq_xling.models.lattice_beam import lattice_beam
from fairseq_xling.models.ngram import Ngram
from tests.unit.models.test_ctc_beam import every_translation as every_alignment
from tests.unit.models.test_lattice_beam import LENGTHS, random
from tests.unit.models.test_lattice_beam import every_translation as every_path
from tests.unit.models.test_ngram import MODEL, reference, table

WORDS = ["", "a", "b", "c"]
WEIGHT, BONUS = 0.7, 0.9


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("ngram") / "model.arpa"
    path.write_text(MODEL, encoding="utf-8")
    return path


@pytest.fixture
def added(model):
    """What a guide adds to a translation, word by word."""
    found = table(model)

    def add(text, weight=WEIGHT, bonus=BONUS):
        words = ["<s>", *(WORDS[number] for number in text), "</s>"]
        total = sum(
            reference(found, tuple(words[max(0, place - 2) : place]), words[place])
            for place in range(1, len(words))
        )
        return weight * total * math.log(10) + bonus * len(text)

    return add


def guide(model, weight=WEIGHT, bonus=BONUS):
    return Guide(Ngram(read_arpa(model), WORDS), weight, bonus)


def named(found, row):
    """The translations of a row, and their scores."""
    texts = [tuple(word for word in line if word >= 0) for line in found.tokens[row].tolist()]
    scores = (-found.nll[row]).tolist()
    return {text: score for text, score in zip(texts, scores, strict=True) if score > -1e20}


def check(found, row, expected):
    """All translations of a row have the scores that are expected, and the best stand first."""
    got = named(found, row)
    assert got.keys() == expected.keys()
    for text, score in expected.items():
        assert got[text] == pytest.approx(score, abs=1e-3)
    assert (found.nll[row].diff() >= 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_wide_search_over_slots_finds_every_translation_with_both_scores(seed, model, added):
    generator = torch.Generator().manual_seed(seed)
    lengths = [4, 1, 3]
    log_probs = torch.randn(3, 4, 4, generator=generator, dtype=torch.double).log_softmax(-1)
    scores, tokens = log_probs[..., 1:].topk(3, 2)
    blank = log_probs[..., 0]
    found = prefix_beam(tokens + 1, scores, blank, torch.tensor(lengths), 150, guide(model))
    for row, length in enumerate(lengths):
        expected = {
            text: score + added(text)
            for text, score in every_alignment(log_probs[row], length).items()
        }
        check(found, row, expected)


@pytest.mark.parametrize("bonus", [-0.4, 2.5])
@pytest.mark.parametrize("seed", range(2))
def test_a_wide_search_over_a_lattice_finds_every_translation_with_both_scores(
    seed, bonus, model, added
):
    steps, tokens, log_probs = random(seed)
    tokens = tokens - 6  # the words 1 to 3
    led = guide(model, bonus=bonus)
    found = lattice_beam(steps, tokens, log_probs, torch.tensor(LENGTHS), 130, led)
    for row, length in enumerate(LENGTHS):
        expected = {
            text: score + added(text, bonus=bonus)
            for text, score in every_path(steps[row], tokens[row], log_probs[row], length).items()
        }
        check(found, row, expected)


@pytest.mark.parametrize("bonus", [-0.4, 2.5])
def test_a_lattice_is_not_left_before_its_best_translation(bonus, model, added):
    """A search ends early where no longer translation can be better, a bonus for words included."""
    led = guide(model, bonus=bonus)
    for seed in range(20):
        steps, tokens, log_probs = random(seed, [6])
        call = (steps, tokens - 6, log_probs, torch.tensor([6]))
        narrow, wide = (named(lattice_beam(*call, beam, led), 0) for beam in (27, 130))
        assert max(narrow, key=narrow.get) == max(wide, key=wide.get)


def test_rows_do_not_depend_on_each_other(model):
    generator = torch.Generator().manual_seed(3)
    log_probs = torch.randn(4, 9, 4, generator=generator).log_softmax(-1)
    scores, tokens = log_probs[..., 1:].topk(3, 2)
    lengths = torch.tensor([9, 2, 5, 7])
    led = guide(model)
    together = prefix_beam(tokens + 1, scores, log_probs[..., 0], lengths, 4, led)
    for row, length in enumerate(lengths.tolist()):
        part = slice(row, row + 1), slice(length)
        alone = prefix_beam(
            *(tokens[part] + 1, scores[part], log_probs[part][..., 0]),
            *(lengths[row : row + 1], 4, led),
        )
        assert named(alone, 0) == pytest.approx(named(together, row), abs=1e-4)


def test_without_weight_and_bonus_the_search_is_the_same(model):
    generator = torch.Generator().manual_seed(5)
    log_probs = torch.randn(2, 8, 4, generator=generator).log_softmax(-1)
    scores, tokens = log_probs[..., 1:].topk(3, 2)
    call = (tokens + 1, scores, log_probs[..., 0], torch.tensor([8, 6]), 5)
    plain, led = prefix_beam(*call), prefix_beam(*call, guide(model, 0.0, 0.0))
    for one, other in zip(plain, led, strict=True):
        assert torch.equal(one, other)
