import math
from collections import Counter

import pytest
import torch

from fairseq_xling.analysis.convert import ConvertRate, bleu_1, vocabulary
from fairseq_xling.core.errors import UserError

# Ids: 0-2 of the source only, 3-4 of both, 5-7 of the target only, 8-9 of neither.
SOURCE = vocabulary([torch.tensor([0, 1, 2]), torch.tensor([3, 4, 0])], 10)
TARGET = vocabulary([torch.tensor([3, 4]), torch.tensor([[5, 6], [7, 5]])], 10)


def random_ids(*shape, seed=0):
    return torch.randint(0, 10, shape, generator=torch.Generator().manual_seed(seed))


def convert_rate(ids, source, target):
    rate = ConvertRate(source, target)
    rate.update(ids)
    return rate.value()


def test_a_vocabulary_is_the_set_of_a_corpus():
    assert SOURCE.nonzero().flatten().tolist() == [0, 1, 2, 3, 4]
    assert TARGET.nonzero().flatten().tolist() == [3, 4, 5, 6, 7]
    assert not vocabulary([], 10).any()
    assert not vocabulary([torch.tensor([], dtype=torch.int64)], 10).any()


@pytest.mark.parametrize("ids", [[], [3, 4, 3]])
def test_nothing_that_shows_a_language_is_not_a_number(ids):
    assert math.isnan(convert_rate(torch.tensor(ids, dtype=torch.int64), SOURCE, TARGET))


def test_it_equals_the_formula_on_sets():
    ids = random_ids(30, 7)
    source, target = {0, 1, 2, 3, 4}, {3, 4, 5, 6, 7}
    written = ids.flatten().tolist()
    converted = sum(y in target - source for y in written)
    shared = sum(y in source & target for y in written)
    expected = converted / (len(written) - shared)
    assert convert_rate(ids, SOURCE, TARGET) == pytest.approx(expected)


def test_batches_count_as_one_text_and_not_as_a_mean_of_rates():
    rate = ConvertRate(SOURCE, TARGET)
    parts = [torch.tensor([5]), random_ids(9, 4), torch.tensor([[0, 1], [3, 8]])]
    for part in parts:
        rate.update(part)
    whole = torch.cat([part.flatten() for part in parts])
    assert rate.value() == convert_rate(whole, SOURCE, TARGET)
    assert rate.value() != pytest.approx(
        sum(convert_rate(part, SOURCE, TARGET) for part in parts) / 3
    )
    assert rate.tokens == 1 + 36 + 4


@pytest.mark.parametrize("wrong", [-1, 10])
def test_ids_outside_the_vocabulary_are_refused(wrong):
    with pytest.raises(UserError, match=rf"token ids must lie in \[0, 10\), got {wrong}"):
        vocabulary([torch.tensor([[3, wrong]])], 10)


def clipped(hypotheses, references):
    """Right unigrams, written unigrams, unigrams of the references."""
    counts = [[Counter(line.split()) for line in lines] for lines in (hypotheses, references)]
    right = sum((h & r).total() for h, r in zip(*counts, strict=True))
    return right, *(sum(c.total() for c in side) for side in counts)


def test_bleu_1_is_the_clipped_precision_of_the_corpus_with_the_brevity_penalty():
    hypotheses = ["the the the cat", "a dog", "", "red house here"]
    references = ["the cat sat on mats", "dog a", "one two", "here is the red house"]
    right, written, wanted = clipped(hypotheses, references)
    found = bleu_1(hypotheses, references, "none")
    penalty = math.exp(1 - wanted / written)
    assert (right, written, wanted) == (7, 9, 14)
    assert found.precision == pytest.approx(100 * right / written)
    assert found.brevity_penalty == pytest.approx(penalty)
    assert found.score == pytest.approx(100 * right / written * penalty)
    assert "smooth:none" in found.signature


def test_long_output_has_no_penalty_and_perfect_output_has_all():
    long = bleu_1(["a b c d"], ["a b"], "none")
    assert (long.precision, long.score, long.brevity_penalty) == (50.0, pytest.approx(50.0), 1.0)
    perfect = bleu_1(["b, a!", "d c"], ["a, b!", "c d"])
    assert perfect.score == pytest.approx(100.0)
    assert bleu_1(["x"], ["a"]).score == 0.0
    assert bleu_1([""], ["a"]).score == 0.0


def test_letters_are_tokens_where_the_tokenizer_says_so():
    assert bleu_1(["房红"], ["红房"], "zh").score == pytest.approx(100.0)
    assert bleu_1(["房红"], ["红房"], "none").score == 0.0


def test_lines_without_references_and_unknown_tokenizers_are_refused():
    with pytest.raises(UserError, match="got 2 lines and 1 references"):
        bleu_1(["a", "b"], ["a"])
    with pytest.raises(UserError, match="at least 1 line, got 0 lines and 0 references"):
        bleu_1([], [])
    with pytest.raises(UserError, match=r"`tokenizer` must be one of 13a, char.*, got 'words'"):
        bleu_1(["a"], ["a"], "words")


def test_a_third_language_is_counted():
    generator = torch.Generator().manual_seed(2)
    source, target, third, fourth = (torch.rand(40, generator=generator) < 0.4 for _ in range(4))
    ids = torch.randint(0, 40, (500,), generator=generator)
    rate = ConvertRate(source, target, {"third": third, "fourth": fourth})
    rate.update(ids[:200])
    rate.update(ids[200:].view(3, -1))
    none = [i for i in ids.tolist() if not (source[i] or target[i])]
    assert rate.neither == len(none) > 0
    assert rate.other == {
        "third": sum(bool(third[i]) for i in none),
        "fourth": sum(bool(fourth[i]) for i in none),
    }
