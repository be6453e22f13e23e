"""From final states to words: the best token of each position, or the best few.

n positions, D width, V vocabulary. With a shortlist also R rows, S slots, C tokens of each row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_xling.data.folder import SPECIALS

Names = Callable[[Tensor], Tensor]  # (n, k) columns of logits to tokens

_BLOCK = 64
# Numbers that a piece with a shortlist reads and writes. Pieces of 8 sentences took a Zen 5 twice
# as long for products of 128 and 256 units in fp32, and up to half as long again in bf16.
_CACHED = 1 << 21


class Few(NamedTuple):
    """What may be written where not every token may.

    Attributes:
        tokens: (R, C) those of each row: all special tokens in their order, then others; one that
            is special there is padding.
        inside: (R, S) bool, where the positions are, row by row.
    """

    tokens: Tensor
    inside: Tensor


def best_tokens(
    states: Sequence[Tensor],
    heads: Sequence[Callable[..., Tensor]],
    specials: Mapping[int, float],
    few: Few | None = None,
    scored: bool = True,
) -> tuple[Tensor, Tensor]:
    """The most probable token at each position, and its log-probability in nats, (n,) each.

    Logits are computed for some positions at a time, so that memory does not grow with n V and
    they are read while they are still in the processor's cache.

    Args:
        states: for each model of an ensemble (n, D).
        heads: for each model a function from (n, D) to its (n, V) logits, and, of the ``tokens``
            (R, C) of each row, from (R, S, D) to (R, S, C). Log-probabilities are averaged, and
            normalised again.
        specials: the special tokens that can be predicted, each with what is taken from its logit;
            the others have probability 0.
        few: the tokens that can be predicted, if not all.
        scored: False if nobody asks for the log-probabilities, which are NaN then: a softmax over
            all tokens takes as long as a layer.
    """
    found = []
    buffer = None  # a new one for every piece would cost as much as the softmax
    for logits, names in _pieces(states, heads, specials, few):
        best = _argmax(logits)[:, None]
        if not scored:
            words = names(best)[:, 0]
            found.append((words, logits.new_full(words.shape, float("nan"), dtype=torch.float32)))
            continue
        if buffer is None or len(buffer) < len(logits):
            buffer = torch.empty_like(logits)
        log_probs = torch.log_softmax(logits, -1, out=buffer[: len(logits)])
        found.append((names(best)[:, 0], log_probs.gather(1, best)[:, 0].float()))
    if not found:
        return torch.empty(0, dtype=torch.long, device=states[0].device), states[0].new_empty(0)
    return tuple(map(torch.cat, zip(*found, strict=True)))


def best_few(
    states: Sequence[Tensor],
    heads: Sequence[Callable[..., Tensor]],
    specials: Mapping[int, float],
    apart: int,
    count: int,
    few: Few | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The ``count`` most probable tokens at each position but one that is looked at apart.

    Args:
        states, heads, specials, few: as of `best_tokens`.
        apart: a special token.

    Returns:
        Tokens (n, count), their log-probabilities in nats (n, count), and that of ``apart`` (n,).
    """
    found = []
    for logits, names in _pieces(states, heads, specials, few):
        log_probs = logits.float().log_softmax(-1)
        alone = log_probs[:, apart].clone()
        log_probs[:, apart] = float("-inf")
        best = log_probs.topk(min(count, log_probs.shape[1] - 1), -1)
        found.append((names(best.indices), best.values, alone))
    if not found:
        none = states[0].new_empty(0, count, dtype=torch.float32)
        return none.long(), none, none[:, 0]
    return tuple(map(torch.cat, zip(*found, strict=True)))


def _pieces(
    states: Sequence[Tensor],
    heads: Sequence[Callable[..., Tensor]],
    specials: Mapping[int, float],
    few: Few | None,
) -> Iterator[tuple[Tensor, Names]]:
    """(n, V) or (n, C) logits of some positions after the others, of an ensemble's mean, and what
    turns their columns into tokens."""
    for scored, names in _whole(states, heads) if few is None else _listed(states, heads, few):
        logits = (_allowed(one, specials) for one in scored)
        if len(states) == 1:
            yield next(logits), names
        else:
            yield sum(one.float().log_softmax(-1) for one in logits) / len(states), names


def _whole(
    states: Sequence[Tensor], heads: Sequence[Callable[..., Tensor]]
) -> Iterator[tuple[Iterator[Tensor], Names]]:
    rows = _positions(states)
    for pieces in zip(*(state.split(rows) for state in states), strict=True):
        yield (head(piece) for head, piece in zip(heads, pieces, strict=True)), _column


def _listed(
    states: Sequence[Tensor], heads: Sequence[Callable[..., Tensor]], few: Few
) -> Iterator[tuple[Iterator[Tensor], Names]]:
    """A product for each row with the embeddings of its own tokens."""
    padding = few.tokens < SPECIALS
    padding[:, :SPECIALS] = False
    padded = [state.new_zeros(*few.inside.shape, state.shape[-1]) for state in states]
    for whole, state in zip(padded, states, strict=True):
        whole[few.inside] = state
    rows = _rows(states, few)
    for start in range(0, len(few.tokens), rows):
        part = slice(start, start + rows)
        tokens, inside = few.tokens[part], few.inside[part]
        own, hidden = inside.nonzero()[:, :1], padding[part, None]
        scored = (
            head(whole[part], tokens=tokens).masked_fill_(hidden, float("-inf"))[inside]
            for head, whole in zip(heads, padded, strict=True)
        )
        yield scored, partial(_token, tokens, own)


def _positions(states: Sequence[Tensor]) -> int:
    return 256 if states[0].device.type == "cpu" else 8192


def _rows(states: Sequence[Tensor], few: Few) -> int:
    """How many at a time: their tokens' embeddings and their logits should stay in the cache."""
    slots, tokens = few.inside.shape[1], few.tokens.shape[1]
    if states[0].device.type != "cpu":
        return max(1, _positions(states) // max(1, slots))
    width = max(state.shape[-1] for state in states)
    return max(1, _CACHED // (tokens * (width + slots)))


def _column(columns: Tensor) -> Tensor:
    return columns


def _token(tokens: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    return tokens[rows, columns]


def _allowed(logits: Tensor, specials: Mapping[int, float]) -> Tensor:
    for token in range(SPECIALS):
        if token not in specials:
            logits[:, token] = float("-inf")
        elif specials[token]:
            logits[:, token] -= specials[token]
    return logits


def _argmax(logits: Tensor) -> Tensor:
    """(n, V) to (n,). torch's own, on a CPU, takes a tenth of the time of the model's layers."""
    count, size = logits.shape
    whole = size - size % _BLOCK
    if logits.device.type != "cpu" or not whole:
        return logits.argmax(-1)
    blocks = logits[:, :whole].unflatten(1, (-1, _BLOCK))
    value, block = blocks.amax(-1).max(-1)
    token = block * _BLOCK + blocks[torch.arange(count), block].argmax(-1)
    if whole == size:
        return token
    rest, place = logits[:, whole:].max(-1)
    return torch.where(rest > value, whole + place, token)
