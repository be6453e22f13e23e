"""Models as ONNX graphs, for programs without torch.

Every graph has a free number B of sentences and a free length, and fixed languages. It is compared
with the model on batches of other sizes than it was traced with, before it is kept.

B sentences, T source length, U target length, D width, V vocabulary.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fairseq_xling.analysis.retrieval import sentence_vectors
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.extras import needed_by
from fairseq_xling.data.folder import CLS, PAD, SEP, SPECIALS, text_mask
from fairseq_xling.models.encoder import Pair

OPSET = 17
TOLERANCE = 1e-4  # between a value of a graph and the model's


class Graph(NamedTuple):
    """A module to write.

    Attributes:
        module: called with its inputs in order.
        inputs, outputs: names, with the names of the axes that are free.
    """

    module: nn.Module
    inputs: Mapping[str, Mapping[int, str]]
    outputs: Mapping[str, Mapping[int, str]]


class EncoderGraph(nn.Module):
    """``tokens`` (B, T), from ``<s>`` to ``</s>`` and padded, to ``states`` (B, T, D) after a layer
    and their ``mean`` (B, D) over subwords, zero without any."""

    def __init__(self, encoder: Any, number: int, pair: Pair, layer: int):
        super().__init__()
        self.encoder, self.number, self.pair, self.layer = encoder, number, pair, layer

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        states = self.encoder.states(source_of(tokens, self.number), self.pair)[self.layer]
        return states, sentence_vectors(states[None], text_mask(tokens))[0]


class SourceGraph(nn.Module):
    """``tokens`` (B, T) to the ``middle`` states (B, T + 1, D), that of null at the end."""

    def __init__(self, encoder: Any, number: int, pair: Pair):
        super().__init__()
        self.encoder, self.number, self.pair = encoder, number, pair

    def forward(self, tokens: Tensor) -> Tensor:
        return self.encoder.lower(source_of(tokens, self.number), self.pair)[-1]


class TargetGraph(nn.Module):
    """TRILayer, upper half and softmax: ``middle`` states, an ``order`` (B, U) of places in the
    source, -1 for null, and ``padding`` (B, U) bool, to ``logits`` (B, U, V)."""

    def __init__(self, encoder: Any, number: int, pair: Pair):
        super().__init__()
        self.encoder, self.number, self.pair = encoder, number, pair

    def forward(self, middle: Tensor, order: Tensor, padding: Tensor) -> Tensor:
        tgt = {**_places(order, self.number), "padding_mask": padding}
        states = self.encoder.upper(middle, tgt, order, self.pair)[-1]
        return self.encoder.logits(states, self.pair)


def source_of(tokens: Tensor, number: int) -> dict[str, Tensor]:
    """The source side of padded ids (B, T) of the language ``number``."""
    return {"tokens": tokens, **_places(tokens, number), "padding_mask": tokens == PAD}


def _places(like: Tensor, number: int) -> dict[str, Tensor]:
    ones = torch.ones_like(like)  # counted, so that the length stays free
    return {"langs": ones * number, "positions": ones.cumsum(1) - 1}


def encoder_graph(encoder: Any, lang: str, layer: int) -> Graph:
    """The states of ``layer`` of a `SeparableEncoder`; 0 is the output of the embeddings."""
    module = EncoderGraph(encoder, encoder.languages.index(lang), (lang, lang), layer)
    both = {0: "sentences", 1: "length"}
    return Graph(module, {"tokens": both}, {"states": both, "mean": {0: "sentences"}})


def translation_graphs(encoder: Any, pair: Pair) -> dict[str, Graph]:
    """The two sides of a `TriEncoder`, by name.

    Raises:
        UserError: if the target side needs more of the source than its states.
    """
    source, target = (encoder.languages.index(lang) for lang in pair)
    src = source_of(torch.tensor([[CLS, SEP]]), source)
    if more := set(encoder.target_side(src, {}, None)):
        raise UserError(
            "a graph of the target side reads only states of the source, but this model's reads "
            f"its {', '.join(more)}, too"
        )
    states = {0: "sentences", 1: "source_length"}
    words = {0: "sentences", 1: "target_length"}
    return {
        "source": Graph(
            SourceGraph(encoder, source, pair),
            {"tokens": {0: "sentences", 1: "length"}},
            {"middle": states},
        ),
        "target": Graph(
            TargetGraph(encoder, target, pair),
            {"middle": states, "order": words, "padding": words},
            {"logits": words},
        ),
    }


def write_graph(path: Path, graph: Graph, samples: Sequence[tuple[Tensor, ...]]) -> float:
    """Write a graph to ``path``.

    Args:
        samples: inputs; the first is traced, all are compared.

    Returns:
        The largest difference of any output to the model's.

    Raises:
        UserError: without the libraries, for a model that cannot be traced, and if an output
            differs by more than `TOLERANCE`.
    """
    import_libraries()
    names = {**graph.inputs, **graph.outputs}
    try:
        with torch.no_grad(), _quiet():
            torch.onnx.export(
                graph.module.eval(),
                samples[0],
                str(path),
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_axes={name: dict(axes) for name, axes in names.items()},
                opset_version=OPSET,
                dynamo=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise UserError(f"the model cannot be written as ONNX ({error})") from None
    worst = max(difference(path, graph, sample) for sample in samples)
    if not worst <= TOLERANCE:
        raise UserError(
            f"the graph {path.name} differs from the model by {worst:.2g}, more than {TOLERANCE:g}"
        )
    return worst


def difference(path: Path, graph: Graph, sample: tuple[Tensor, ...]) -> float:
    """The largest absolute difference of the outputs of a file and of its module."""
    with torch.no_grad():
        found = graph.module(*sample)
    expected = [found] if isinstance(found, Tensor) else found
    given = dict(zip(graph.inputs, (one.numpy() for one in sample), strict=True))
    try:
        outputs = session(path).run(list(graph.outputs), given)
    except Exception as error:  # the runtime raises nothing more specific
        raise UserError(
            f"the graph {path.name} cannot do what the model can, with inputs of shape "
            f"{', '.join(str(tuple(one.shape)) for one in sample)} ({error})"
        ) from None
    return max(
        float((torch.from_numpy(ours) - theirs).abs().max())
        for ours, theirs in zip(outputs, expected, strict=True)
    )


def session(path: Path) -> Any:
    """A file of a graph, ready to run on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4  # what it raises says the same
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def quantise(path: Path) -> None:
    """Give the matrix products of a file weights of 8 bits."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    whole = path.with_suffix(".whole.onnx")
    path.rename(whole)
    try:
        with _quiet():
            quantize_dynamic(str(whole), str(path), weight_type=QuantType.QInt8)
    finally:
        whole.unlink()


def import_libraries() -> None:
    """Nothing, if the libraries of the format are there."""
    with needed_by("`--format onnx`"):
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401


def sample_tokens(vocab_size: int, sizes: Sequence[int], seed: int) -> Tensor:
    """Random sentences (B, T), padded, of so many ids each, the frame included."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.full((len(sizes), max(sizes)), PAD)
    for row, size in zip(tokens, sizes, strict=True):
        row[:size] = torch.randint(SPECIALS, vocab_size, (size,), generator=generator)
        row[0], row[size - 1] = CLS, SEP
    return tokens


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what exporter and quantiser say about themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
