"""From final states to words: the best token of each position, or the best few.

n positions, D width, V vocabulary.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from fairseq_xling.data.folder import SPECIALS

_BLOCK = 64


def best_tokens(
    states: Sequence[Tensor],
    heads: Sequence[Callable[[Tensor], Tensor]],
    specials: Mapping[int, float],
) -> tuple[Tensor, Tensor]:
    """The most probable token at each position, and its log-probability in nats, (n,) each.

    Logits are computed for some positions at a time, so that memory does not grow with n V and
    they are read while they are still in the processor's cache.

    Args:
        states: for each model of an ensemble (n, D).
        heads: for each model a function from (n, D) to its (n, V) logits. Log-probabilities are
            averaged, and normalised again.
        specials: the special tokens that can be predicted, each with what is taken from its logit;
            the others have probability 0.
    """
    found = []
    buffer = None  # a new one for every piece would cost as much as the softmax
    for logits in _pieces(states, heads, specials):
        tokens = _argmax(logits)
        if buffer is None:
            buffer = torch.empty_like(logits)
        log_probs = torch.log_softmax(logits, -1, out=buffer[: len(logits)])
        found.append((tokens, log_probs.gather(1, tokens[:, None])[:, 0].float()))
    if not found:
        return torch.empty(0, dtype=torch.long, device=states[0].device), states[0].new_empty(0)
    return tuple(map(torch.cat, zip(*found, strict=True)))


def best_few(
    states: Sequence[Tensor],
    heads: Sequence[Callable[[Tensor], Tensor]],
    specials: Mapping[int, float],
    apart: int,
    count: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The ``count`` most probable tokens at each position but one that is looked at apart.

    Args:
        states, heads, specials: as of `best_tokens`.
        apart: a token.

    Returns:
        Tokens (n, count), their log-probabilities in nats (n, count), and that of ``apart`` (n,).
    """
    found = []
    for logits in _pieces(states, heads, specials):
        log_probs = logits.float().log_softmax(-1)
        alone = log_probs[:, apart].clone()
        log_probs[:, apart] = float("-inf")
        best = log_probs.topk(min(count, log_probs.shape[1] - 1), -1)
        found.append((best.indices, best.values, alone))
    if not found:
        none = states[0].new_empty(0, count, dtype=torch.float32)
        return none.long(), none, none[:, 0]
    return tuple(map(torch.cat, zip(*found, strict=True)))


def _pieces(
    states: Sequence[Tensor],
    heads: Sequence[Callable[[Tensor], Tensor]],
    specials: Mapping[int, float],
) -> Iterator[Tensor]:
    """(n, V) logits of some positions after the others, of an ensemble's mean."""
    rows = 256 if states[0].device.type == "cpu" else 8192
    for pieces in zip(*(state.split(rows) for state in states), strict=True):
        scores = 0
        for state, head in zip(pieces, heads, strict=True):
            logits = _allowed(head(state), specials)
            if len(states) > 1:
                scores = scores + logits.float().log_softmax(-1)
        yield scores / len(states) if len(states) > 1 else logits


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
