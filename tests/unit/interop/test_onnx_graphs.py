"""Graphs in ONNX Runtime against the model in torch, on shapes that they were not traced with."""

import pytest
import torch
from torch import nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.interop.onnx_graphs import (
    Graph,
    difference,
    encoder_graph,
    quantise,
    sample_tokens,
    session,
    translation_graphs,
    write_graph,
)
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.models.trilayer_compat import CompatTriEncoder

VOCABULARY = {"en": 50, "de": 50}
SHAPE = EncoderShape(2, 16, 32, 2, 24, copy_embeddings=False)
WITH_LANGUAGES = EncoderShape(
    2, 16, 32, 2, 24, language_embeddings=True, num_segments=2, copy_embeddings=True
)
TRACED, OTHERS = (6, 3), [(4, 9, 24), (2,), (11, 11)]


def made(kind, shape, plan="", seed=0):
    torch.manual_seed(seed)
    encoder = kind(shape, VOCABULARY, SharingPlan.parse(plan, shape.layers))
    for parameter in encoder.parameters():  # a new model's states hardly differ
        nn.init.normal_(parameter, std=0.3)
    return encoder.eval()


def tokens(sizes):
    return (sample_tokens(50, sizes, seed=sum(sizes)),)


@pytest.mark.parametrize(
    ("kind", "shape", "plan"),
    [
        (SeparableEncoder, SHAPE, "emb,1"),
        (TriEncoder, SHAPE, ""),
        (TriEncoder, WITH_LANGUAGES, ""),
    ],
)
def test_states_and_means_are_those_of_the_model_for_every_length_and_number(
    kind, shape, plan, tmp_path
):
    encoder, path = made(kind, shape, plan), tmp_path / "e.onnx"
    graphs = [encoder_graph(encoder, lang, encoder.depth) for lang in VOCABULARY]
    for graph in graphs:
        assert write_graph(path, graph, [tokens(TRACED)]) < 1e-4
        assert max(difference(path, graph, tokens(sizes)) for sizes in OTHERS) < 1e-4
    (batch,) = tokens((4, 9, 2))
    states, mean = session(path).run(None, {"tokens": batch.numpy()})
    for row, size in enumerate((4, 9)):  # means by hand
        words = torch.from_numpy(states[row, 1 : size - 1])
        assert torch.allclose(torch.from_numpy(mean[row]), words.mean(0), atol=1e-5)
    assert not mean[2].any()  # no word
    if plan or shape.language_embeddings:
        assert difference(path, graphs[0], tokens(TRACED)) > 1e-2  # it is of the other language


@pytest.mark.parametrize("shape", [SHAPE, WITH_LANGUAGES])
def test_two_sides_with_an_order_are_the_output_of_the_model(shape, tmp_path):
    encoder = made(TriEncoder, shape)
    graphs = translation_graphs(encoder, ("en", "de"))
    random = torch.Generator().manual_seed(3)
    for name, graph in graphs.items():
        middle = torch.randn(2, 7, 16, generator=random)
        order = torch.tensor([[0, 2, 2, -1], [5, 1, 0, 0]])
        padding = torch.tensor([[False] * 4, [False] * 2 + [True] * 2])
        sample = tokens(TRACED) if name == "source" else (middle, order, padding)
        write_graph(tmp_path / f"{name}.onnx", graph, [sample])
    for sizes in OTHERS:
        (batch,) = tokens(sizes)
        length = max(sizes) - 1
        order = torch.randint(-1, 2, (len(sizes), length), generator=random)
        padding = torch.zeros(order.shape, dtype=torch.bool)
        (middle,) = session(tmp_path / "source.onnx").run(None, {"tokens": batch.numpy()})
        given = {"middle": middle, "order": order.numpy(), "padding": padding.numpy()}
        (logits,) = session(tmp_path / "target.onnx").run(None, given)
        places = torch.arange(batch.shape[1]).expand(batch.shape)
        src = {"tokens": batch, "positions": places, "langs": torch.zeros_like(batch)}
        src["padding_mask"] = batch == 1
        places = torch.arange(length).expand(order.shape)
        tgt = {"positions": places, "langs": torch.ones_like(order)}
        with torch.no_grad():
            final = encoder.halves(src, tgt, order, ("en", "de"))[1][-1]
            expected = encoder.logits(final, ("en", "de"))
        assert (torch.from_numpy(logits) - expected).abs().max() < 1e-4


def test_in_8_bits_the_file_is_smaller_and_means_hardly_turn(tmp_path):
    torch.manual_seed(1)
    shape = EncoderShape(2, 128, 512, 4, 24)
    encoder = SeparableEncoder(shape, VOCABULARY, SharingPlan()).eval()
    graph, path = encoder_graph(encoder, "en", 2), tmp_path / "e.onnx"
    write_graph(path, graph, [tokens(TRACED)])
    whole = path.stat().st_size
    quantise(path)
    assert path.stat().st_size < 0.4 * whole
    assert [file.name for file in tmp_path.iterdir()] == ["e.onnx"]
    (batch,) = tokens(OTHERS[0])
    mean = torch.from_numpy(session(path).run(["mean"], {"tokens": batch.numpy()})[0])
    with torch.no_grad():
        expected = graph.module(batch)[1]
    assert torch.cosine_similarity(mean, expected).min() > 0.999
    assert not torch.equal(mean, expected)


class FixedLength(nn.Module):
    """Its positions are those of the batch that it is traced with."""

    def forward(self, tokens):
        return (tokens + torch.arange(len(tokens[0]))).float()


def test_a_graph_that_a_trace_has_bound_to_a_number_is_not_kept(tmp_path):
    axes = {0: "sentences", 1: "length"}
    graph = Graph(FixedLength(), {"tokens": axes}, {"sums": axes})
    assert write_graph(tmp_path / "g.onnx", graph, [tokens(TRACED)]) == 0
    with pytest.raises(UserError, match=r"graph g\.onnx .*model"):
        write_graph(tmp_path / "g.onnx", graph, [tokens(TRACED), tokens(OTHERS[0])])


def test_a_model_whose_target_side_reads_the_sources_padding_is_refused():
    encoder = made(CompatTriEncoder, WITH_LANGUAGES)
    with pytest.raises(UserError, match="its source_padding_mask, too"):
        translation_graphs(encoder, ("en", "de"))
