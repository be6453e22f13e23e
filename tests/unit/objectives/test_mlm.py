import numpy as np
import pytest

from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import CLS, MASK, SEP, SPECIALS
from fairseq_xling.objectives.mlm import MaskedLM
from tests.framed_rows import mono

OWN = {"en": np.arange(6, 500), "de": np.arange(400, 1000)}
VOCABULARY = Vocabulary({"en": 1000, "de": 1000}, {"en": 0, "de": 1}, OWN)


@pytest.fixture
def mlm(options):
    return lambda **changes: MaskedLM(options(**changes), VOCABULARY)


def test_an_example_hides_some_words_and_predicts_exactly_those(mlm):
    words = list(range(6, 106))
    example = mlm()(mono(words, "de"), np.random.default_rng(0))
    assert example.tgt["tokens"].tolist() == [CLS, *words, SEP]  # W = X
    assert example.order is None and not example.extra  # A = identity
    chosen = example.tgt["predict"]
    assert chosen.sum() == 15
    hidden = example.src["tokens"]
    assert (hidden[~chosen] == example.tgt["tokens"][~chosen]).all()
    assert 8 <= (hidden[chosen] == MASK).sum() <= 15
    for side in (example.src, example.tgt):
        assert side["positions"].tolist() == list(range(102))
        assert set(side["langs"].tolist()) == {1}
    assert hidden[0] == CLS and hidden[-1] == SEP and not chosen[[0, -1]].any()


def test_the_proportions_of_bert_hold_on_a_hundred_thousand_tokens(mlm):
    rng, objective = np.random.default_rng(3), mlm()
    words, seen = 50, {"chosen": 0, "mask": 0, "same": 0}
    for _ in range(2000):
        example = objective(mono(rng.integers(6, 500, words)), rng)
        hidden, truth = example.src["tokens"], example.tgt["tokens"]
        chosen = example.tgt["predict"]
        assert (truth[chosen] >= SPECIALS).all()
        seen["chosen"] += int(chosen.sum())
        seen["mask"] += int((hidden[chosen] == MASK).sum())
        seen["same"] += int((hidden == truth)[chosen].sum())

    def near(count, share, total):
        return abs(count - share * total) < 3 * np.sqrt(share * (1 - share) * total)

    assert near(seen["chosen"], 0.15, 2000 * words)
    assert near(seen["mask"], 0.8, seen["chosen"])
    assert near(seen["same"], 0.1 + 0.1 / 994, seen["chosen"])


@pytest.mark.parametrize("within", [True, False])
def test_random_words_are_of_the_same_language_if_asked_and_never_special(mlm, within):
    rng = np.random.default_rng(0)
    objective = mlm(mask_prob=1.0, random_token=1.0, leave_unmasked=0.0)
    objective.cfg.random_within_language = within
    for lang in ("en", "de"):
        drawn = objective(mono(np.full(20_000, 450), lang), rng).src["tokens"][1:-1]
        assert drawn.min() >= SPECIALS
        foreign = int((~np.isin(drawn, OWN[lang])).sum())
        assert foreign == 0 if within else foreign > 1000


def test_all_randomness_comes_from_the_generator_given(mlm):
    def hidden(seed):
        return mlm()(mono(range(6, 60)), np.random.default_rng(seed)).src["tokens"].tolist()

    first = hidden(1)
    np.random.seed(5)
    assert hidden(1) == first != hidden(2)


def test_a_sentence_without_words_is_an_example_without_predictions(mlm):
    example = mlm()(mono([]), np.random.default_rng(0))
    assert example.src["tokens"].tolist() == [CLS, SEP] and not example.tgt["predict"].any()
