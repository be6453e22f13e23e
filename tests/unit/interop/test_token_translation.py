"""Token translation on models whose answer is known: planted ones, and a real one by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from fairseq_xling.analysis.convert import ConvertRate
from fairseq_xling.analysis.language_mean import LanguageMean, mean_difference
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SEP, SPECIALS, UNK
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.token_translation import best_ids, shifting, translate_tokens
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder

WORDS, WIDTH = 30, 16
SIZE = SPECIALS + 2 * WORDS  # English words, then German ones in the same order
LANGUAGES = ["en", "de"]


class Same(EncoderLayer):
    """A layer that changes nothing."""

    def forward(self, x, attention_mask=None):
        return x


class Planted(nn.Module):
    """h = meaning + language on every layer; what is written is the nearest token."""

    def __init__(self, depth=3):
        super().__init__()
        self.depth, self.shape = depth, SimpleNamespace(dim=WIDTH)
        generator = torch.Generator().manual_seed(1)
        meaning = torch.randn(WORDS, WIDTH, generator=generator)
        language = 3 * torch.randn(2, 1, WIDTH, generator=generator)
        special = 100 * torch.randn(SPECIALS, WIDTH, generator=generator)
        self.table = torch.cat([special, *(meaning + one for one in language)])
        self.layers = nn.ModuleList(Same(WIDTH, 8, 1) for _ in range(depth))

    def states(self, src, pair):
        found = [self.table[src["tokens"]]]
        for layer in self.layers:
            found.append(layer(found[-1]))
        return found

    def logits(self, states, pair):
        return -torch.cdist(states, self.table)


class Model(nn.Module):
    def __init__(self, encoder, positions=20):
        super().__init__()
        self.encoder, self._positions = encoder, positions

    def max_positions(self):
        return self._positions


def loaded(encoder, positions=20):
    return Encoder(Model(encoder, positions), SimpleNamespace(folder=None, languages=LANGUAGES))


def english(count=12, seed=0):
    """Sentences of ids, each with its ``</s>``; their translation is WORDS higher."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, count)
    return [np.append(SPECIALS + rng.integers(0, WORDS, size), SEP) for size in sizes]


def translated(encoder, sentences, *args):
    found = [None] * len(sentences)
    for indices, ids in translate_tokens(encoder, sentences, ("en", "de"), *args):
        for index, one in zip(indices, ids, strict=True):
            found[index] = one
    return found


@pytest.fixture
def planted():
    return loaded(Planted())


@pytest.fixture
def difference(planted):
    """D from English to German over the same 300 sentences in both."""
    means = []
    for offset in (0, WORDS):
        mean = LanguageMean()
        shifted = [np.append(ids[:-1] + offset, SEP) for ids in english(300, seed=1)]
        for _, states, words in planted.states(shifted, "en"):
            mean.add(states, words)
        means.append(mean.value())
    return mean_difference(*means)


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_one_difference_turns_every_token_into_its_translation(planted, difference, layer):
    sentences = english()
    found = translated(planted, sentences, (layer, 1.0 * difference[layer]))
    for ids, written in zip(sentences, found, strict=True):
        assert written.tolist() == (ids[:-1] + WORDS).tolist()


def test_the_further_the_shift_the_more_tokens_convert(planted, difference):
    english_set, german_set = torch.zeros(2, SIZE, dtype=torch.bool)
    english_set[SPECIALS : SPECIALS + WORDS] = True
    german_set[SPECIALS + WORDS :] = True
    rates = []
    for alpha in [-1, 0, *np.linspace(0.4, 0.6, 21), 1]:
        ids = np.concatenate(translated(planted, english(40), (1, alpha * difference[1])))
        rate = ConvertRate(english_set, german_set)
        rate.update(torch.from_numpy(ids))
        rates.append(rate.value())
    assert rates == sorted(rates) and rates[0] == 0 and rates[-1] == 1
    assert len(set(rates)) > 3  # not all at one alpha


def real(tri=False, plan="", languages=False):
    """A small encoder with random weights, in which tokens see each other."""
    torch.manual_seed(1)
    shape = EncoderShape(
        4, WIDTH, 32, 4, 20, dropout=0.0, attention_dropout=0.0, init_std=0.3,
        language_embeddings=languages,
    )  # fmt: skip
    kind = TriEncoder if tri else SeparableEncoder
    return loaded(kind(shape, dict.fromkeys(LANGUAGES, SIZE), SharingPlan.parse(plan, 4)))


def source(ids):
    tokens = torch.tensor([[0, *ids]])
    return {
        "tokens": tokens,
        "langs": torch.zeros_like(tokens),
        "positions": torch.arange(tokens.shape[1])[None],
    }


@pytest.mark.parametrize("tri", [False, True])
def test_the_vector_is_added_on_its_layer_and_the_layers_above_go_on_from_there(tri):
    model = real(tri).model.encoder
    src, vector = source([7, 9, 11, SEP]), torch.linspace(-1, 1, WIDTH)
    plain = model.states(src)
    for layer in range(1, model.depth + 1):
        with shifting(model, layer, vector):
            twice = [model.states(src), model.states(src)]  # it starts anew with each pass
        for moved in twice:
            assert all(torch.equal(moved[k], plain[k]) for k in range(layer))
            torch.testing.assert_close(moved[layer], plain[layer] + vector)
            assert all(not torch.allclose(moved[k], plain[k]) for k in range(layer, model.depth))
    assert torch.equal(model.states(src)[-1], plain[-1])  # it ends with the block


@pytest.mark.parametrize("plan", ["", "softmax", "1-2"])
def test_every_position_writes_the_argmax_of_the_head_as_a_loop_does(plan):
    encoder = real(plan=plan)
    model, shift = encoder.model.encoder, (2, torch.linspace(-2, 2, WIDTH))
    sentences = [*english(6), np.array([8, UNK, 9, SEP]), np.array([SEP])]
    found = translated(encoder, sentences, shift, 24)  # several batches, padded
    with torch.no_grad(), shifting(model, *shift):
        for ids, written in zip(sentences, found, strict=True):
            states = model.states(source(ids.tolist()), ("en", "en"))[-1][0, 1:-1]
            assert written.tolist() == model.logits(states, ("en", "de")).argmax(-1).tolist()


def test_what_is_beyond_the_positions_is_not_written(planted):
    planted.model._positions = 5
    (ids,) = translated(planted, [np.array([*range(6, 14), SEP])])
    assert ids.tolist() == [6, 7, 8]


def test_best_ids_do_not_depend_on_how_many_logits_exist_at_a_time():
    states, table = torch.randn(600, 4), torch.randn(50, 4)
    expected = (states @ table.T).argmax(-1)
    assert torch.equal(best_ids(states, lambda rows: rows @ table.T), expected)
    assert best_ids(states[:0], lambda rows: rows @ table.T).shape == (0,)


def test_a_layer_or_language_that_is_not_there_is_refused(planted):
    for layer in (0, 4):
        with pytest.raises(UserError, match=rf"`--layer` must lie in \[1, 3\], got {layer}"):
            translated(planted, english(), (layer, torch.zeros(WIDTH)))
    with pytest.raises(UserError, match="unknown language 'fr'"):
        list(translate_tokens(planted, english(), ("en", "fr")))
