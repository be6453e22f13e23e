"""Compiled layers, output layer and loss: the same numbers, and one graph for all."""

import copy

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import compat
from fairseq_xling.engine.compat import require_compiler
from fairseq_xling.models.compiled import compile_encoder, over_rows
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.unpadded import Segments
from fairseq_xling.training.criterion import token_nll


class Counting:
    """A compiler that leaves a graph as it is, and counts."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, inputs):
        self.graphs += 1
        return graph.forward


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def gradients(encoder, src, pair):
    encoder.zero_grad()
    states = encoder.states(src, pair)[-1]
    logits = encoder.logits(states.flatten(0, 1), pair)
    logits.square().mean().backward()
    named = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
    return {"logits": logits.detach(), **named}


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "separate"), [("aot_eager", ""), ("eager", "emb,1")])
def test_states_logits_and_gradients_are_those_of_the_modules(
    backend, separate, make_encoder, make_src
):
    encoder = make_encoder(separate, lm_head="bert", activation="gelu_tanh").train()
    src, pair = make_src([0, 7, 8, 2], [0, 9, 2]), ("de", "en")
    expected = gradients(encoder, src, pair)
    names = list(encoder.state_dict())
    compile_encoder(encoder, backend)
    assert list(encoder.state_dict()) == names
    found = gradients(encoder, src, pair)
    assert found.keys() == expected.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-5, atol=1e-6)
    found = gradients(copy.deepcopy(encoder), src, pair)  # as for an average of weights
    torch.testing.assert_close(found["logits"], expected["logits"])


def test_all_layers_and_shapes_share_one_graph(make_encoder, make_src):
    counting = Counting()
    encoder = make_encoder("1", lm_head="linear", layers=4).train()
    compile_encoder(encoder, counting)
    for rows in ([5], [3, 4], [6, 7, 2], [9, 9, 9, 9]):
        src = make_src(*([0, *range(7, 7 + n), 2] for n in rows))
        for lang in ("en", "de"):
            encoder.states(src, (lang, lang))[-1].sum().backward()
        with torch.no_grad():
            encoder.states(src, ("en", "en"))
    assert counting.graphs == 1


def test_a_layer_without_padding_shares_it():
    counting = Counting()
    layer = EncoderLayer(16, 32, 4, 0.0, 0.0)
    x = torch.randn(12, 16)
    segments = Segments(torch.tensor([0, 5, 12], dtype=torch.int32), 128, 6)
    expected = layer(x, segments)
    compile_encoder(layer, counting)
    torch.testing.assert_close(layer(x, segments), expected)
    layer(x.view(3, 4, 16))
    assert counting.graphs == 1


def test_the_loss_is_compiled_once():
    counting = Counting()
    compiled = over_rows(token_nll, 2, counting)
    for n in (3, 8, 21):
        logits, target = torch.randn(n, 11), torch.randint(11, (n,))
        torch.testing.assert_close(compiled(logits, target), token_nll(logits, target))
    assert counting.graphs == 1


@pytest.mark.slow
def test_dropout_of_a_compiled_layer_has_its_rate():
    layer = EncoderLayer(16, 32, 4, 0.5, 0.0).train()
    compile_encoder(layer, "aot_eager")
    x = torch.randn(200, 16)
    segments = Segments(torch.tensor([0, 200], dtype=torch.int32), 256, 200)
    assert not torch.equal(layer(x, segments), layer(x, segments))
    layer.eval()
    assert torch.equal(layer(x, segments), layer(x, segments))


@pytest.mark.parametrize("on_gpu, needs", [(False, "a C++ compiler"), (True, "Triton")])
def test_where_no_compiler_is_one_line_says_so(on_gpu, needs, monkeypatch):
    def fails(graph, inputs):
        raise RuntimeError("No working C++ compiler found\nmore lines")

    monkeypatch.setattr(compat, "COMPILER", fails)
    with pytest.raises(UserError) as found:
        require_compiler(on_gpu)
    message = str(found.value)
    assert message.startswith(f"`--compile` needs {needs}") and "\n" not in message


def test_a_compiler_that_works_is_taken(monkeypatch):
    monkeypatch.setattr(compat, "COMPILER", "aot_eager")
    require_compiler(False)
