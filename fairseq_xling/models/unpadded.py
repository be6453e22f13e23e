"""Attention without padding: the tokens of a batch one after the other, in segments.

`data.unpadded` says where they are. N states, S segments, D width, B rows, W columns of a grid.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairseq_xling.engine.compat import KERNEL, SHORT_KERNEL, operator
from fairseq_xling.models.dropout import dropout

_HALF = (torch.float16, torch.bfloat16)
# Below this mean length the kernel with blocks of 64 states is faster than the one with blocks of
# 128: forward and backward 1.24 and 2.27 ms at a mean of 48 states, 1.85 and 1.43 ms at 96
# (60,000 states, 12 heads of 64, an H100).
_SHORT = 72


class Segments(NamedTuple):
    """Who attends to whom among N states: those of a segment to each other.

    Attributes:
        bounds: (S + 1,) int32, where each begins, N last; a segment may be empty.
        longest: a number of states that none exceeds.
        mean: states of a segment on average, empty ones left out.
    """

    bounds: Tensor
    longest: int
    mean: int


def segments_of(layout: Mapping[str, Any]) -> Segments:
    """The segments of one side of a batch."""
    return Segments(layout["bounds"], layout["longest"], layout["mean"])


def attend_segments(qkv: Tensor, heads: int, segments: Segments, rate: float) -> Tensor:
    """(N, 3 D), queries then keys then values, to (N, D): each segment attends to itself.

    Args:
        rate: of dropout on the weights.
    """
    parts = qkv.view(len(qkv), 3, heads, -1)
    if qkv.dtype in _HALF and qkv.device.type != "cpu":
        mixed = _fused(parts, segments, rate)
    else:
        mixed = _by_padding(parts, segments, rate)
    return mixed.reshape(len(qkv), -1)


def _fused(parts: Tensor, segments: Segments, rate: float) -> Tensor:
    """(N, 3, heads, d) to (N, heads, d) by the faster of two kernels of torch.

    `torch.nn.attention.varlen` is the second one without dropout.
    """
    bounds, longest, mean = segments
    kernel = operator(SHORT_KERNEL if mean < _SHORT else KERNEL)
    if kernel is None:
        return _by_padding(parts, segments, rate)
    query, key, value = parts.unbind(1)
    lengths = bounds, bounds, longest, longest
    if mean < _SHORT:
        rows = (part[None] for part in (query, key, value))
        return kernel(*rows, None, *lengths, rate, 0, torch.is_grad_enabled())[0][0]
    return kernel(query, key, value, *lengths, rate, False, return_debug_mask=False)[0]


def _by_padding(parts: Tensor, segments: Segments, rate: float) -> Tensor:
    """The same step by step, for devices and numbers that flash attention does not have."""
    bounds = segments.bounds.long()
    sizes = bounds.diff()
    used = sizes > 0
    starts, sizes = bounds[:-1][used], sizes[used]
    places = torch.arange(int(sizes.max()), device=parts.device)
    inside = places < sizes[:, None]
    index = (starts[:, None] + places).where(inside, 0)
    query, key, value = parts[index].permute(2, 0, 3, 1, 4)  # (3, S, heads, longest, d)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    scores = scores.masked_fill(~inside[:, None, None], -torch.inf)
    mixed = dropout(scores.softmax(-1), rate) @ value
    return mixed.transpose(1, 2)[inside]


def flat(side: Mapping[str, Tensor], layout: Mapping[str, Any]) -> dict[str, Tensor]:
    """What embeddings are looked up by, of each state: (N,) for each (B, T) of ``side``."""
    names = side.keys() & {"tokens", "langs", "positions", "segments", "shown"}
    return {name: side[name].flatten()[layout["index"]] for name in names}


def begin(states: Tensor, layout: Mapping[str, Any]) -> Tensor:
    """What the target's states begin as, (N', D), from the source's (N, D): one, or the mean of
    several."""
    read, shares = layout["read"], layout.get("shares")
    if shares is None:
        return states.index_select(0, read)
    shares = shares.to(states)
    parts = (states.index_select(0, read[:, k]) * shares[:, k, None] for k in range(read.shape[1]))
    return sum(parts)


def grid(states: Tensor, layout: Mapping[str, Any], rows: int, columns: int) -> Tensor:
    """(N, D) as (B, W, D), zero at padding."""
    place = layout["place"]
    empty = states.new_zeros(rows * columns, states.shape[-1])
    return empty.index_copy(0, place, states[: len(place)]).view(rows, columns, -1)


def source_grid(
    states: Tensor, src: Mapping[str, Tensor], unpadded: Mapping[str, Any] | None
) -> Tensor:
    """States of the source as (B, T, D), with null states (B, T + 1, D), also where they have no
    padding."""
    if unpadded is None:
        return states
    rows, columns = src["tokens"].shape
    return grid(states, unpadded["src"], rows, columns + ("null" in unpadded["src"]))


def target_grid(
    states: Tensor, tgt: Mapping[str, Tensor], unpadded: Mapping[str, Any] | None
) -> Tensor:
    """States of the target as (B, U, D), also where they have no padding."""
    if unpadded is None:
        return states
    return grid(states, unpadded.get("tgt", unpadded["src"]), *tgt["positions"].shape)
