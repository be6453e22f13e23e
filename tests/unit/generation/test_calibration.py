"""What a model reads before it translates in 8 bits."""

import pytest
import torch
from fairseq.data import Dictionary

from fairseq_xling.data.folder import CLS, SEP, SPECIALS
from fairseq_xling.generation.task import calibrate
from fairseq_xling.models.layer import EncoderLayer


def read(model, counts):
    """The ids that are read, (B, T) each time."""
    dictionary, seen = Dictionary(), []
    while len(dictionary) < SPECIALS:
        dictionary.add_symbol(f"<special{len(dictionary)}>")
    for number, count in enumerate(counts):
        dictionary.add_symbol(f"w{number}", n=count)
    lower = model.encoder.lower

    def noted(src, pair):
        seen.append(src["tokens"])
        return lower(src, pair)

    model.encoder.lower = noted
    calibrate(model, dictionary, ("en", "xx"), {"en": 0, "xx": 1})
    return seen


def test_words_come_as_often_as_in_the_text_and_always_the_same(make_model):
    seen = read(make_model(), [900, 100, 0])
    assert len({tokens.shape for tokens in seen}) == len(seen) > 1
    for tokens in seen:
        assert (tokens[:, 0] == CLS).all()
        assert (tokens[:, -1] == SEP).all()
    words = torch.cat([tokens[:, 1:-1].flatten() for tokens in seen]) - SPECIALS
    assert set(words.tolist()) <= {0, 1, 2}
    assert 0.85 < (words == 0).double().mean() < 0.95
    again = read(make_model(), [900, 100, 0])
    assert all(map(torch.equal, seen, again))


@pytest.mark.parametrize(
    "shape", [{}, {"emission": "ctc", "upsample": 2}, {"emission": "lattice", "upsample": 3}]
)
def test_every_layer_is_reached(make_model, shape):
    model, reached = make_model(**shape), set()
    layers = [layer for layer in model.modules() if type(layer) is EncoderLayer]
    for layer in layers:
        layer.register_forward_pre_hook(lambda module, _: reached.add(module))
    read(model, [1, 1])
    assert len(layers) == 5
    assert reached == set(layers)


def test_sentences_fit_the_models_positions(make_model):
    model = make_model()
    model.max_positions = lambda: 10
    assert {tokens.shape[1] for tokens in read(model, [1, 1])} == {8, 10}
