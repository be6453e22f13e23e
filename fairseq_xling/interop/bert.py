"""Our encoders in the terms of BERT (Devlin et al., 2019): configuration and named weights.

The way back of `interop.sources.bert`, whose tables of names it reads from right to left. What BERT
does not have is folded into what it has: the embedding of the chosen language is added to the rows
of segments, and the linear output becomes BERT's transform (see `_identity`).

D width, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, PAD, SEP
from fairseq_xling.interop.sources.bert import HEAD, TABLE
from fairseq_xling.interop.sources.folder import PUBLISHED
from fairseq_xling.interop.sources.table import convert_back
from fairseq_xling.models.encoder import EncoderShape, SeparableEncoder
from fairseq_xling.models.layer import activations

# The closest that float32 comes to the identity, relative to the largest state.
_TOLERANCE = 1e-5


def bert_config(encoder: SeparableEncoder, rows: int) -> dict[str, Any]:
    """The ``config.json`` of a BERT that computes as ``encoder``, without its architecture."""
    s = encoder.shape
    return {
        "model_type": "bert",
        "vocab_size": rows,
        "hidden_size": s.dim,
        "num_hidden_layers": s.layers,
        "num_attention_heads": s.heads,
        "intermediate_size": s.ffn_dim,
        "hidden_act": PUBLISHED[s.activation],
        "hidden_dropout_prob": s.dropout,
        "attention_probs_dropout_prob": s.attention_dropout,
        "max_position_embeddings": s.max_positions,
        "type_vocab_size": max(s.num_segments, 1),
        "initializer_range": s.init_std,
        "layer_norm_eps": s.norm_eps,
        "position_embedding_type": "absolute",
        "bos_token_id": CLS,
        "pad_token_id": PAD,
        "eos_token_id": SEP,
        "tie_word_embeddings": encoder.tied,
        "torch_dtype": "float32",
    }


def bert_weights(
    encoder: SeparableEncoder,
    language: str,
    depth: int | None = None,
    above: Sequence[nn.Module] = (),
) -> dict[str, Tensor]:
    """The weights of a `BertModel`, under the prefix ``bert.``.

    Args:
        depth: how many layers it has of the encoder's; None for all.
        above: layers on top of these.

    Raises:
        UserError: for an encoder with a TRILayer.
    """
    if encoder.reorders:
        raise UserError("a model with a TRILayer is no BERT")
    weights, s = encoder.path_weights(language), encoder.shape
    segments = weights.get("segment_table.weight", torch.zeros(1, s.dim))
    if s.language_embeddings:
        segments = segments + weights["language_table.weight"][encoder.languages.index(language)]
    weights["segment_table.weight"] = segments
    weights.setdefault("positions.shared.weight", torch.zeros(s.max_positions, s.dim))
    depth = s.layers if depth is None else depth
    for number, layer in enumerate(above, start=depth):
        for name, tensor in layer.state_dict().items():
            weights[f"layers.{number}.shared.{name}"] = tensor.float().cpu()
    theirs = convert_back(weights, TABLE, depth + len(above))
    return {f"bert.{name}": tensor for name, tensor in theirs.items()}


def mlm_head(encoder: SeparableEncoder, language: str) -> dict[str, Tensor] | None:
    """The weights of BERT's output layer; None if it cannot represent ours."""
    weights = encoder.path_weights(language)
    if "softmax.shared.dense.weight" not in weights:
        last = f"layers.{encoder.shape.layers - 1}.shared.ffn_norm"
        found = _identity(weights[f"{last}.weight"], weights[f"{last}.bias"], encoder.shape)
        if found is None:
            return None
        weights |= {f"softmax.shared.{name}": tensor for name, tensor in found.items()}
    theirs = convert_back(weights, HEAD, encoder.shape.layers)
    if not encoder.tied:
        theirs["cls.predictions.decoder.weight"] = weights["output_tokens.shared.weight"]
        theirs["cls.predictions.decoder.bias"] = theirs["cls.predictions.bias"].clone()
    return theirs


def _identity(scale: Tensor, shift: Tensor, shape: EncoderShape) -> dict[str, Tensor] | None:
    """BERT's transform, LayerNorm(gelu(W x + b)), with x as its result, in float32.

    There is none for any x. But x is the output of the last LayerNorm, ``scale`` z + ``shift`` with
    a z of mean 0 and variance 1. W x + b = z + c, with c so large that gelu, or any other of our
    activations, changes nothing, and the second LayerNorm takes c away and puts scale and shift
    back.

    Returns:
        Weights by name; None if in float32 the result differs from x, as where a scale is near 0.
    """
    dim, eps = len(scale), shape.norm_eps
    # |z| is at most sqrt(D - 1), and gelu(x) = x in float32 from 6 on.
    far = 6 + (dim - 1) ** 0.5
    if not bool((scale.abs() > 1e-6).all()):
        return None
    found = {
        "dense.weight": torch.diag(1 / scale),
        "dense.bias": far - shift / scale,
        "norm.weight": scale,
        "norm.bias": shift,
    }
    generator = torch.Generator().manual_seed(0)
    x = F.layer_norm(torch.randn(64, dim, generator=generator), (dim,), scale, shift, eps)
    inner = activations[shape.activation](F.linear(x, found["dense.weight"], found["dense.bias"]))
    error = (F.layer_norm(inner, (dim,), scale, shift, eps) - x).abs().max()
    return found if error <= _TOLERANCE * x.abs().max() else None
