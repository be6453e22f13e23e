"""Translation with a shortlist: the same as with all logits, those of other tokens masked."""

import numpy as np
import pytest
import torch

from fairseq_xling.data.folder import CLS, PAD, SEP, SPECIALS
from fairseq_xling.data.shortlist import Shortlist
from fairseq_xling.generation.generator import CandidateTokens
from fairseq_xling.models import int8
from fairseq_xling.models.int8 import quantise

WORDS = ([7, 8, 9], [10], [11, 12, 13, 14, 7, 8], [9, 9], [])
SIZE = SPECIALS + 70


@pytest.fixture
def shortlist():
    rng = np.random.default_rng(1)
    linked = np.full((SIZE, 4), PAD, dtype=np.int32)
    for row in range(SPECIALS, SIZE):
        known = rng.integers(0, 5)
        linked[row, :known] = rng.choice(np.arange(20, SIZE), known, replace=False)
    return Shortlist(linked, np.array([9, 12, 17], dtype=np.int32))


def allowed(shortlist, words):
    """The words of a sentence, one source word at a time."""
    found = {int(word) for source in (CLS, *words, SEP) for word in shortlist.linked[source]}
    return {*found, *shortlist.frequent.tolist(), *range(SPECIALS)}


def test_a_sentence_has_the_tokens_of_its_words(shortlist):
    rows = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor([CLS, *words, SEP]) for words in WORDS], True, PAD
    )
    found = CandidateTokens(shortlist)(rows)
    assert found[:, :SPECIALS].tolist() == [list(range(SPECIALS))] * len(WORDS)
    for words, row in zip(WORDS, found.tolist(), strict=True):
        others = [token for token in row[SPECIALS:] if token != PAD]
        assert len(others) == len(set(others))  # a token twice would have twice the probability
        assert {*others, *range(SPECIALS)} == allowed(shortlist, words)


SLOTS = {"emission": "ctc", "upsample": 3, "copy_embeddings": True}
# An ordering, a model, options, and how many models: lattices have no ensembles, and orders come
# from one model.
KINDS = [
    ("identity", SLOTS, {}, 1),
    ("identity", SLOTS, {"beam": 4}, 2),
    ("identity", {**SLOTS, "emission": "lattice"}, {}, 1),
    ("identity", {}, {"unk_penalty": 0.5}, 2),
    ("predicted", {"auxiliary": "order"}, {"length_candidates": 2}, 1),
]


@pytest.mark.parametrize(("ordering", "shape", "options", "count"), KINDS)
@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8", "int8 and bf16"])
def test_what_is_written_is_the_best_of_the_sentences_own_tokens(
    make_model, make_generator, make_sample, shortlist, monkeypatch, ordering, shape, options,
    count, precision,
):  # fmt: skip
    """Against all logits of each sentence alone, those of other tokens masked."""
    models = [make_model(**shape, lm_head="bert", seed=seed) for seed in range(1, count + 1)]
    for model in models:
        if hasattr(model.emission, "steps"):  # random ones lead to the end at once
            monkeypatch.setattr(model.emission, "steps", chain)
        if precision == "bf16":
            model.bfloat16()
        if precision.startswith("int8"):
            monkeypatch.setattr(int8, "cpu_has_bf16", lambda: precision != "int8")
            quantise(model)
            model.encoder.softmax.select(None).project = torch.nn.functional.linear
    made = make_generator(models, ordering, candidate_tokens=CandidateTokens(shortlist), **options)
    together = made.generate(models, make_sample(*WORDS))
    differs = 0
    slow = make_generator(models, ordering, **options)
    unlisted = slow.generate(models, make_sample(*WORDS))
    for number, words in enumerate(WORDS):
        others = [n for n in range(SIZE) if n not in allowed(shortlist, words)]
        with monkeypatch.context() as patched:
            for model in models:
                patched.setattr(model.encoder, "logits", masked(model.encoder.logits, others))
            (expected,) = slow.generate(models, make_sample(words))
        assert len(together[number]) == len(expected) > 0
        for found, one in zip(together[number], expected, strict=True):
            accuracy = 0.05 if "bf16" in precision else 1e-4
            assert found["score"] == pytest.approx(one["score"], rel=accuracy, abs=accuracy)
            if "bf16" not in precision:  # numbers so rough are often equal
                assert found["tokens"].tolist() == one["tokens"].tolist()
        differs += unlisted[number][0]["tokens"].tolist() != expected[0]["tokens"].tolist()
    assert differs  # the list matters


def chain(states, lengths):
    """(R, S, S) steps to the next slot."""
    slots = states.shape[1]
    return torch.diag(torch.ones(slots - 1), 1).log().expand(len(states), -1, -1)


def masked(logits, others):
    def found(states, pair=None, tokens=None):
        assert tokens is None
        return logits(states, pair).index_fill(1, torch.tensor(others), -torch.inf)

    return found
