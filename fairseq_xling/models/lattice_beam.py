"""The likeliest translations of a lattice, by a beam search over prefixes.

Many paths write the same words. A prefix of a translation keeps the probability that its last word
is at each slot, the sum over all paths that write it, so that its translations need no merging
(after the forward sums of Huang et al., 2022, Section 3.2; their own beam search keeps paths).

R rows, S slots, B prefixes of a row, C words that a slot may write, U different words of a row.
"""

import torch
from torch import Tensor

from fairseq_xling.models.ctc_beam import Prefixes
from fairseq_xling.models.lattice_paths import NEVER, ahead, to_the_end

_END = -1  # of the words of a prefix


def lattice_beam(
    steps: Tensor, tokens: Tensor, log_probs: Tensor, lengths: Tensor, beam: int
) -> Prefixes:
    """Search for the words that paths write.

    Prefixes of one length compete by the score of all their translations together. It is
    exact if ``beam`` is at least the number of prefixes of a length and each slot may write any
    word.

    Args:
        steps: (R, S, S) log-probabilities from slot to slot, about -1e30 for none.
        tokens: (R, S, C) the words that each slot may write, all different.
        log_probs: (R, S, C) their log-probabilities, and what a word adds to the score.
        lengths: (R,) slots; the first and the last write nothing.
    """
    names, words = _by_word(tokens, log_probs, lengths)
    ways, end = steps.exp(), to_the_end(steps, lengths)
    rows, slots = end.shape
    alpha = steps.new_full((rows, beam, slots), NEVER)
    alpha[:, 0, 0] = 0.0
    text = tokens.new_full((rows, beam, max(1, slots - 2)), _END)
    most = _most(steps, log_probs.amax(2), lengths)
    live = Prefixes(text, torch.zeros_like(text), alpha.new_full((rows, beam), -NEVER))
    found = live
    for place in range(slots - 1):
        ended, begun = ((alpha + part[:, None]).logsumexp(2) for part in (end, most))
        found = _better(found, live._replace(nll=-ended))
        hopeless = -begun.amax(1) >= found.nll[:, -1]
        if place == slots - 2 or bool(hopeless.all()):
            break
        reach = _product(alpha, ways)
        grown = _product(reach, words).flatten(1)
        best = grown.topk(beam, 1)
        parent, word = best.indices // names.shape[1], best.indices % names.shape[1]
        emitted = words.gather(2, word[:, None].expand(-1, slots, -1)).transpose(1, 2)
        own = parent[..., None]
        alpha = _log(emitted) + reach.gather(1, own.expand(-1, -1, slots))
        alpha = alpha.masked_fill(best.values[..., None] <= NEVER, NEVER).clamp(min=NEVER)
        text, where = (part.gather(1, own.expand_as(part)) for part in live[:2])
        text[..., place], where[..., place] = names.gather(1, word), alpha.argmax(2)
        live = live._replace(tokens=text, slots=where)
    return found


def _most(steps: Tensor, best: Tensor, lengths: Tensor) -> Tensor:
    """(R, S) what no translation can exceed from each slot on, if its words are worth at most
    ``best`` (R, S) there: all paths together, with that at each of their slots."""
    last = torch.arange(best.shape[1], device=best.device) >= lengths[:, None] - 1
    return ahead(steps + best.masked_fill(last, 0.0)[:, None], lengths, torch.logsumexp)


def _by_word(tokens: Tensor, log_probs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The different words of each row (R, U), and their probabilities at each slot (R, S, U)."""
    rows, slots, _ = tokens.shape
    each, order = tokens.flatten(1).sort(1)
    number = torch.zeros_like(each)
    number[:, 1:] = (each[:, 1:] != each[:, :-1]).cumsum(1)
    count = int(number.max()) + 1
    names = each.new_full((rows, count), _END).scatter(1, number, each)
    index = torch.empty_like(number).scatter(1, order, number).view_as(tokens)
    place = torch.arange(slots, device=tokens.device)
    inside = (place > 0) & (place < (lengths - 1)[:, None])
    probs = log_probs.exp() * inside[..., None]
    return names, probs.new_zeros(rows, slots, count).scatter(2, index, probs)


def _product(logs: Tensor, factors: Tensor) -> Tensor:
    """log(exp(``logs`` (R, B, S)) ``factors`` (R, S, N)), (R, B, N); at least `NEVER`."""
    most = logs.amax(2, keepdim=True)
    return (_log((logs - most).exp() @ factors) + most).clamp(min=NEVER)


def _log(values: Tensor) -> Tensor:
    return values.log().clamp(min=NEVER)


def _better(one: Prefixes, other: Prefixes) -> Prefixes:
    """The best of both, as many as there are of one."""
    tokens, slots, nll = (torch.cat(both, 1) for both in zip(one, other, strict=True))
    nll, order = nll.sort(dim=1, stable=True)
    best = order[:, : one.nll.shape[1]]
    place = best[..., None].expand(-1, -1, tokens.shape[2])
    return Prefixes(tokens.gather(1, place), slots.gather(1, place), nll[:, : best.shape[1]])
