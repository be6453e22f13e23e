"""Sums and maxima over the paths of a lattice, for all rows of a batch at once.

A path of a row begins at its first slot and ends at its last; between them it visits one slot for
each word, each later than the one before. Its log-probability is the sum of its steps and of the
words at the slots that it visits (Huang et al., 2022, Section 3.2).

R rows, S slots, U words. ``steps`` (R, S, S) from slot to slot, ``emitted`` (R, U, S) of each word
at each slot, ``lengths`` (R,) slots and ``sizes`` (R,) words of each row.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

NEVER = -1e30  # finite: the gradient of the logarithm of 0 is not a number


def lattice_loss(steps: Tensor, emitted: Tensor, lengths: Tensor, sizes: Tensor) -> Tensor:
    """The negative logarithm of the sum over all paths, (R,); about 1e30 where there is none."""
    return _Loss.apply(steps, emitted, lengths, sizes)


def best_path(steps: Tensor, emitted: Tensor, lengths: Tensor, sizes: Tensor) -> Tensor:
    """The slot of each word on the likeliest path, (R, U); any beyond a row's ``sizes``."""
    words = emitted.shape[1]
    best, chosen = steps[:, 0], []
    for word in range(words):
        if word:
            after, before = (best[:, :, None] + steps).max(1)
            chosen.append(before)
        else:
            after = best
        best = torch.where((word < sizes)[:, None], after + emitted[:, word], best)
    end = to_the_end(steps, lengths)
    here = (best + end).argmax(1)
    slots = []
    for word in range(words - 1, -1, -1):
        slots.append(here)
        if word:
            back = chosen[word - 1].gather(1, here[:, None])[:, 0]
            here = torch.where(word < sizes, back, here)
    return torch.stack(slots[::-1], 1) if slots else steps.new_zeros(len(steps), 0).long()


def ahead(
    scores: Tensor, lengths: Tensor, together: Callable[[Tensor, int], Tensor] = torch.amax
) -> Tensor:
    """What the rest of a path adds from each slot on, to the last of its row, (R, S).

    Args:
        scores: (R, S, S) of going from slot to slot, with what is written there.
        together: of the ways from a slot: `torch.amax` for the best, `torch.logsumexp` for all.
    """
    slots = scores.shape[1]
    place = torch.arange(slots, device=scores.device)
    value = torch.where(place == lengths[:, None] - 1, 0.0, NEVER).to(scores)
    for slot in range(slots - 2, -1, -1):
        ways = together(scores[:, slot, slot + 1 :] + value[:, slot + 1 :], 1)
        value[:, slot] = torch.maximum(value[:, slot], ways)
    return value


def visits(steps: Tensor) -> Tensor:
    """The probability that a path visits each slot, whatever it writes, (R, S)."""
    ways = steps.exp()
    share = torch.zeros_like(ways[:, 0])
    share[:, 0] = 1.0
    for slot in range(steps.shape[1] - 1):
        share[:, slot + 1 :].addcmul_(share[:, slot, None], ways[:, slot, slot + 1 :])
    return share


def to_the_end(steps: Tensor, lengths: Tensor) -> Tensor:
    """(R, S) the step from each slot to the last of its row."""
    last = (lengths - 1)[:, None, None].expand(-1, steps.shape[1], 1)
    return steps.gather(2, last)[..., 0]


class _Loss(torch.autograd.Function):
    """Forwards and backwards sums; autograd would keep U tensors (R, S, S)."""

    @staticmethod
    def forward(ctx: Any, steps: Tensor, emitted: Tensor, lengths: Tensor, sizes: Tensor) -> Tensor:
        end = to_the_end(steps, lengths)
        alphas = []
        for word in range(emitted.shape[1]):
            before = alphas[-1] if word else None
            reached = steps[:, 0] if before is None else (before[:, :, None] + steps).logsumexp(1)
            after = reached + emitted[:, word]
            alphas.append(after if before is None else _where(word < sizes, after, before))
        if not alphas:  # no row has a word
            total = end[:, 0]
            alpha = emitted
        else:
            alpha = torch.stack(alphas, 1)
            total = _where(sizes > 0, (alphas[-1] + end).logsumexp(1), end[:, 0])
        ctx.save_for_backward(steps, emitted, lengths, sizes, alpha, total)
        return -total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        steps, emitted, lengths, sizes, alpha, total = ctx.saved_tensors
        to_steps, to_emitted = torch.zeros_like(steps), torch.zeros_like(emitted)
        end = to_the_end(steps, lengths)
        last = (lengths - 1)[:, None, None].expand(-1, steps.shape[1], 1)
        empty = sizes == 0
        direct = (end - total[:, None]).clamp(max=0).exp()
        direct[:, 1:] = 0
        to_end = direct.masked_fill(~empty[:, None], 0)
        beta = end
        for word in range(emitted.shape[1] - 1, -1, -1):
            real = (word < sizes)[:, None]
            beta = torch.where((word == sizes - 1)[:, None], end, beta)
            # Of a path that is none, sums of `NEVER` may exceed the total; nothing is above 1.
            posterior = (alpha[:, word] + beta - total[:, None]).clamp(max=0).exp()
            posterior = posterior.masked_fill(~real, 0)
            to_emitted[:, word] = posterior
            to_end += posterior.masked_fill(~(word == sizes - 1)[:, None], 0)
            there = emitted[:, word] + beta
            if word:
                ways = steps + there[:, None]
                shares = (alpha[:, word - 1, :, None] + ways - total[:, None, None]).clamp(max=0)
                to_steps += shares.exp().masked_fill(~real[..., None], 0)
                beta = torch.where(real, ways.logsumexp(2), beta)
            else:
                to_steps[:, 0] += posterior
        to_steps.scatter_add_(2, last, to_end[..., None])
        return -grad[:, None, None] * to_steps, -grad[:, None, None] * to_emitted, None, None


def _where(condition: Tensor, one: Tensor, other: Tensor) -> Tensor:
    return torch.where(condition[:, None] if one.dim() == 2 else condition, one, other)
