"""Token translation: a sentence's states are shifted to another language and decoded there.

Liu et al. 2020, "A Study of Cross-Lingual Ability and Language-specific Information in Multilingual
BERT", section 4.2: at one layer l, at every position, ``h^l <- h^l + alpha D^l``; the states then
pass through the layers above l, and each position outputs the argmax of the LM head. Nothing is
masked.

B batch, T length, n positions, D width, V vocabulary. Layers are those of `Encoder.states`: 0 is
the embeddings' output, and a TRILayer is one of them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.data.folder import text_mask
from fairseq_xling.interop.encoder import Encoder
from fairseq_xling.models.layer import EncoderLayer
from fairseq_xling.models.reading import ReadingLayer

_CPU_ROWS, _ROWS = 256, 8192  # positions whose logits exist at a time


@contextmanager
def shifting(encoder: Any, layer: int, vector: Tensor, option: str = "--layer") -> Iterator[None]:
    """Within this block, ``vector`` (D,) is added to the output of layer ``layer``, from 1.

    Args:
        encoder: a `SeparableEncoder` of any kind; a pass goes through ``depth`` layers.
        option: the option that names the layer, for the error.

    Raises:
        UserError: if there is no such layer.
    """
    if not 1 <= layer <= encoder.depth:
        raise UserError(f"`{option}` must lie in [1, {encoder.depth}], got {layer}")
    passed = 0

    def shift(module: Any, inputs: Any, output: Tensor) -> Tensor | None:
        # Layers are counted as a token passes through them, whatever module contains them.
        nonlocal passed
        passed = passed % encoder.depth + 1
        return output + vector.to(output) if passed == layer else None

    handles = [
        module.register_forward_hook(shift)
        for module in encoder.modules()
        if isinstance(module, EncoderLayer | ReadingLayer)
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def translate_tokens(
    encoder: Encoder,
    sentences: Sequence[np.ndarray],
    pair: tuple[str, str],
    shift: tuple[int, Tensor] | None = None,
    max_tokens: int = 8192,
) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """The model's output for each token of ``sentences``, in batches of similar length.

    Args:
        sentences: ids as returned by `TextEncoder.encode`. Too long ones are cut at the model's
            positions.
        pair: the input language, with its private parts if any, and the language whose LM head
            is used, if each has its own.
        shift: the layer, and ``alpha D`` (D,) to add there; None is the unchanged model.
        max_tokens: maximum padded tokens per batch.

    Yields:
        (indices (B,), B arrays of ids (n,)): one for each token but ``<s>`` and ``</s>``. Special
        symbols may also be output.

    Raises:
        UserError: for a language or layer that the model does not have.
    """
    source, target = pair
    if target not in encoder.languages:
        raise unknown_name("language", target, encoder.languages)
    model = encoder.model.encoder
    # Validated even where there is no sentence.
    moved = nullcontext() if shift is None else shifting(model, *shift)
    with moved:
        for indices, batch in encoder.batches(sentences, source, max_tokens):
            src = batch["net_input"]["src"]
            states = model.states(src, (source, source))[-1]
            text = text_mask(src["tokens"], unknown=True)
            ids = best_ids(states[text], lambda rows: model.logits(rows, pair))
            yield indices, np.split(ids.cpu().numpy(), text.sum(1).cumsum(0)[:-1].cpu().numpy())


def best_ids(states: Tensor, head: Callable[[Tensor], Tensor]) -> Tensor:
    """``argmax_v head(states)[i, v]``, (n,) int64; logits exist for some positions at a time.

    >>> best_ids(torch.eye(3), lambda rows: rows[:, [2, 0, 1]]).tolist()
    [1, 2, 0]
    """
    rows = _CPU_ROWS if states.device.type == "cpu" else _ROWS
    return torch.cat([head(part).argmax(-1) for part in states.split(rows)])
