import math

import pytest
import torch

from fairseq_xling.analysis import language_mass as module
from fairseq_xling.analysis.convert import vocabulary
from fairseq_xling.analysis.language_mass import LanguageMass, exclusive, language_mass
from fairseq_xling.core.errors import UserError
from tests.random_tensors import normal as random

# Ids 0-3 of English only, 4 of English and German, 5-7 of German only, 8 of all three languages,
# 9 of French only, 10-11 of no language.
CORPORA = [[0, 1, 2, 3, 4, 8], [4, 5, 6, 7, 8], [8, 9]]
OWN = [[0, 1, 2, 3], [5, 6, 7], [9]]
SETS = torch.stack([vocabulary([torch.tensor(ids)], 12) for ids in CORPORA])


def test_only_tokens_of_one_language_are_exclusive():
    assert [row.nonzero().flatten().tolist() for row in exclusive(SETS)] == OWN
    assert torch.equal(exclusive(exclusive(SETS)), exclusive(SETS))


def test_it_equals_a_sum_token_by_token():
    logits = 3 * random(20, 12)
    mass = language_mass(logits, SETS)
    for b in range(20):
        total = sum(math.exp(z) for z in logits[b].tolist())
        for k, own in enumerate(OWN):
            expected = sum(math.exp(logits[b, v]) for v in own) / total
            assert float(mass[b, k]) == pytest.approx(expected, rel=1e-6)


def test_logits_and_log_probabilities_of_any_size_give_the_same():
    logits = random(8, 12)
    mass = language_mass(logits, SETS)
    torch.testing.assert_close(language_mass(logits.log_softmax(-1), SETS), mass)
    torch.testing.assert_close(language_mass(logits.double() + 1e4, SETS), mass)


@pytest.mark.parametrize("sizes", [1, 4, [9, 0, 2]])
def test_batches_give_the_mean_over_positions(sizes):
    logits = random(11, 12)
    mass = LanguageMass(SETS)
    for part in logits.split(sizes):
        mass.update(part)
    assert mass.count == 11
    torch.testing.assert_close(mass.value(), language_mass(logits, SETS).mean(0))
    assert float(mass.value().sum()) <= 1


def test_blocks_of_positions_change_nothing(monkeypatch):
    logits = random(11, 12)
    whole = language_mass(logits, SETS)
    monkeypatch.setattr(module, "_CELLS", 30)
    torch.testing.assert_close(language_mass(logits, SETS), whole, atol=1e-15, rtol=0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_without_probabilities_are_refused_and_the_sums_stay(value):
    mass = LanguageMass(SETS)
    mass.update(random(4, 12))
    before = mass.value()
    spoilt = random(4, 12)
    spoilt[2, 11] = value  # of a token that no language has
    with pytest.raises(UserError, match="got NaN or infinity in row 2"):
        mass.update(spoilt)
    assert torch.equal(mass.value(), before)
    assert mass.count == 4


def test_tokens_that_cannot_be_written_have_no_mass():
    logits = random(3, 12)
    logits[:, 5:8] = -math.inf
    assert language_mass(logits, SETS)[:, 1].tolist() == [0.0] * 3
    with pytest.raises(UserError, match="got NaN or infinity in row 0"):
        language_mass(torch.full((1, 12), -math.inf), SETS)


def test_no_position_is_refused():
    with pytest.raises(UserError, match="needs at least 1 masked position, got 0"):
        LanguageMass(SETS).value()
