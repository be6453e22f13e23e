"""TLM, and that a model trained with it looks a hidden word up in the translation."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import CLS, MASK, SEP, SPECIALS
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.objectives.tlm import TranslationLM
from tests.framed_rows import pair

WORDS, LENGTH = 24, 6


@pytest.fixture
def tlm(options):
    def make(**changes):
        size = SPECIALS + WORDS
        own = {"en": np.arange(6, 18), "de": np.arange(18, 30)}
        vocabulary = Vocabulary({"en": size, "de": size}, {"en": 0, "de": 1}, own)
        return TranslationLM(options(**changes), vocabulary)

    return make


def test_both_sides_are_one_input_with_positions_from_zero_and_languages_per_token(tlm):
    example = tlm()(pair([7, 8, 9, 10], [20, 21]), np.random.default_rng(0))
    for side in (example.src, example.tgt):
        assert side["positions"].tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3]
        assert side["langs"].tolist() == [0] * 6 + [1] * 4
    assert example.tgt["tokens"].tolist() == [CLS, 7, 8, 9, 10, SEP, CLS, 20, 21, SEP]
    assert example.order is None


def test_each_side_is_hidden_in_its_own_share(tlm):
    rng, objective = np.random.default_rng(0), tlm(mask_prob=0.5)
    for _ in range(50):
        example = objective(pair([7] * 10, [20] * 4), rng)
        chosen, hidden = example.tgt["predict"], example.src["tokens"]
        assert chosen[:12].sum() == 5 and chosen[12:].sum() == 2
        assert (hidden[~chosen] == example.tgt["tokens"][~chosen]).all()


def test_random_words_are_of_their_sides_language_if_asked(tlm):
    objective = tlm(mask_prob=1.0, random_token=1.0, leave_unmasked=0.0)
    objective.cfg.random_within_language = True
    tokens = objective(pair([7] * 500, [20] * 500), np.random.default_rng(0)).src["tokens"]
    english, german = tokens[1:501], tokens[503:-1]
    assert set(english.tolist()) == set(range(6, 18))
    assert set(german.tolist()) == set(range(18, 30))


def test_the_longer_side_bounds_the_whole_input(tlm):
    assert tlm().max_length(np.array([6, 9])).tolist() == [12, 18]


def accuracy(encoder, x, y):
    """How many hidden words of x are found, when one word of each x is hidden and y is whole."""
    rng = np.random.default_rng(9)
    examples, truth = [], []
    objective = TranslationLM(
        SimpleNamespace(
            mask_prob=0.0, leave_unmasked=0.0, random_token=0.0, random_within_language=False
        ),
        Vocabulary({"en": SPECIALS + WORDS, "de": SPECIALS + WORDS}, {"en": 0, "de": 1}),
    )
    for one, other in zip(x, y, strict=True):
        example = objective(pair(one, other), rng)
        place = int(rng.integers(1, LENGTH + 1))
        example.src["tokens"][place] = MASK
        example.tgt["predict"][place] = True
        truth.append(int(one[place - 1]))
        examples.append(example)
    batch = collate(examples, [0] * len(x), list(range(len(x))), None)["net_input"]
    with torch.no_grad():
        states = encoder.states(batch["src"])[-1][batch["tgt"]["predict"]]
        return (encoder.logits(states).argmax(-1) == torch.tensor(truth)).float().mean().item()


def test_a_hidden_word_is_found_in_its_copy_and_no_longer_when_the_copy_is_shuffled(
    tlm, record_property
):
    torch.manual_seed(1)
    shape = EncoderShape(2, 48, 96, 2, LENGTH + 2, dropout=0.0, attention_dropout=0.0, init_std=0.1)
    sizes = {"en": SPECIALS + WORDS, "de": SPECIALS + WORDS}
    encoder = SeparableEncoder(shape, sizes, SharingPlan())
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
    rng, objective = np.random.default_rng(1), tlm(mask_prob=0.2, random_token=0.0)

    def sentences(count):
        return rng.integers(SPECIALS, SPECIALS + WORDS, (count, LENGTH))

    for step in range(500):
        examples = [objective(pair(words, words), rng) for words in sentences(48)]
        batch = collate(examples, [0] * 48, list(range(48)), None)
        predict = batch["net_input"]["tgt"]["predict"]
        logits = encoder.logits(encoder.states(batch["net_input"]["src"])[-1][predict])
        loss = F.cross_entropy(logits, batch["target"][predict])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19 and accuracy(encoder, *[sentences(200)] * 2) > 0.98:
            break
    x = sentences(400)
    shuffled = rng.permuted(x, axis=1)
    strangers = sentences(400)
    found = {name: accuracy(encoder, x, y) for name, y in (("copy", x), ("shuffled", shuffled))}
    for name, value in found.items():
        record_property(f"accuracy, {name}", round(value, 3))
    assert found["copy"] > 0.95
    assert found["shuffled"] < 0.5
    assert accuracy(encoder, x, strangers) < 0.15
