"""A folder of ONNX graphs with the vocabulary: `fairseq-xling export --format onnx`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.data.folder import CLS, MASK, PAD, SEP, UNK
from fairseq_xling.interop import onnx_graphs as graphs
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.interop.export import chosen_language, write_vocabulary

INFO = "onnx.json"
_SIZES = ((7, 4), (3, 9, 5), (2,))  # of sentences that graphs are compared on; the first is traced


def export_onnx(
    checkpoint: str | Path,
    folder: Path,
    data: str | Path | None = None,
    *,
    language: str | None = None,
    layer: int | None = None,
    pair: str | None = None,
    int8: bool = False,
) -> str:
    """Write the graphs, the vocabulary and `INFO` into ``folder``, which is there.

    Args:
        data: the model's data folder, if it has moved.
        language: of the encoder; it may be left out if nothing in the model depends on it.
        layer: whose states are written (default: the last).
        pair: as in "en-de": write a translator's two sides instead of an encoder.
        int8: write weights in 8 bits.

    Returns:
        What was written, in one line.

    Raises:
        UserError: as `Encoder.load` and `graphs.write_graph`, and for languages, a layer or a pair
            that the model does not have.
    """
    graphs.import_libraries()
    if pair is not None and (language is not None or layer is not None):
        raise UserError(
            "`--onnx-pair` names the languages, and its graphs have all layers; leave out "
            "`--language` and `--onnx-layer`"
        )
    encoder = Encoder.load(checkpoint, data)
    about: dict[str, Any] = {"int8": int8, "max_positions": encoder.model.max_positions()}
    about["ids"] = {"<s>": CLS, "<pad>": PAD, "</s>": SEP, "<unk>": UNK, "<mask>": MASK}
    if pair is None:
        lang, number = chosen_language(encoder.model.encoder, language), _layer(encoder, layer)
        found = {"encoder": graphs.encoder_graph(encoder.model.encoder, lang, number)}
        about |= {"language": lang, "layer": number}
        said, languages = f"{lang}, layer {number}", (lang, lang)
    else:
        languages = _pair(encoder, pair)
        found = graphs.translation_graphs(encoder.model.encoder, languages)
        about |= {"source": languages[0], "target": languages[1]}
        said = "-".join(languages)
    worst = 0.0
    for name, graph in found.items():
        path = folder / f"{name}.onnx"
        samples = [_sample(encoder, languages[0], name, sizes) for sizes in _sizes(encoder)]
        worst = max(worst, graphs.write_graph(path, graph, samples))
        if int8:
            graphs.quantise(path)
    about["graphs"] = {
        name: {"inputs": list(graph.inputs), "outputs": list(graph.outputs)}
        for name, graph in found.items()
    }
    write_json(folder / INFO, about)
    write_vocabulary(encoder.folder, folder)
    size = sum((folder / f"{name}.onnx").stat().st_size for name in found) / 1e6
    before = " before it was written in 8 bits" if int8 else ""
    if hasattr(encoder.task, "head"):
        said += f", without the head {encoder.task.cfg.head!r}"
    return f"{said}, {size:.1f} MB, at most {worst:.1g} from the model{before}"


def _layer(encoder: Encoder, layer: int | None) -> int:
    if layer is None:
        return encoder.num_layers
    if not 0 <= layer <= encoder.num_layers:
        raise UserError(f"`--onnx-layer` must lie in [0, {encoder.num_layers}], got {layer}")
    return layer


def _pair(encoder: Encoder, pair: str) -> tuple[str, str]:
    source, _, target = pair.partition("-")
    if not source or not target:
        raise UserError(f"`--onnx-pair` must be two languages joined by -, got {pair!r}")
    for lang in (source, target):
        encoder.check_language(lang)
    if not getattr(encoder.model, "reorders", False):
        raise UserError("`--onnx-pair` needs a model with a TRILayer, of `--task cdlm`")
    if not encoder.model.emission.in_order:
        raise UserError(
            "`--onnx-pair` needs a model that writes a word at each position, of "
            "`--emission aligned`"
        )
    return source, target


def _sizes(encoder: Encoder) -> list[tuple[int, ...]]:
    limit = encoder.model.max_positions()
    return [tuple(min(size, limit) for size in sizes) for sizes in _SIZES]


def _sample(encoder: Encoder, lang: str, name: str, sizes: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Inputs of the graph ``name``: random ids of ``lang``, or states and orders."""
    inner, seed = encoder.model.encoder, sum(sizes)
    tokens = graphs.sample_tokens(inner.tokens.select(lang).num_embeddings, sizes, seed)
    if name != "target":
        return (tokens,)
    generator = torch.Generator().manual_seed(seed)
    middle = torch.randn(len(sizes), max(sizes) + 1, encoder.width, generator=generator)
    length = min(max(sizes) + 2, encoder.model.max_positions())
    order = torch.randint(-1, max(sizes), (len(sizes), length), generator=generator)
    padding = torch.arange(length)[None] >= torch.tensor(sizes)[:, None]
    return middle, order, padding
