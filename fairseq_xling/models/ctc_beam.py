"""The likeliest translations of a CTC model, by a beam search over prefixes.

The greedy reading takes the likeliest alignment; many alignments write the same words. This sums
over those of each prefix (Graves, 2012, "Sequence Transduction with Recurrent Neural Networks",
Section 4; Hannun et al., 2014), slot by slot, for all rows and prefixes at once.

R rows, S slots, B prefixes of a row, C words that a slot may add.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_xling.models.lattice_paths import NEVER

_BASE = 6364136223846793005  # of a hash of prefixes, modulo 2^64
_NOTHING = -1


class Prefixes(NamedTuple):
    """Translations, the likeliest of a row first.

    Attributes:
        tokens: (R, B, W), -1 after the end; slots: (R, B, W), where each was added.
        nll: (R, B) in nats; about 1e30 where a row has fewer translations.
    """

    tokens: Tensor
    slots: Tensor
    nll: Tensor


def prefix_beam(
    tokens: Tensor, log_probs: Tensor, blank: Tensor, lengths: Tensor, beam: int
) -> Prefixes:
    """Search for the words that slots write.

    It is exact if ``beam`` is at least the number of prefixes and each slot may add any word.

    Args:
        tokens: (R, S, C) the words that each slot may add, without the blank, all different.
        log_probs: (R, S, C) their log-probabilities; blank: (R, S) that of the blank.
        lengths: (R,) slots.
    """
    rows, slots, choices = tokens.shape
    log_probs, blank = log_probs.float(), blank.float()
    # By prefix: its log-probability where the last slot wrote nothing, or its last word; that word;
    # its hash. The first is empty, the others are not there yet.
    after_blank = torch.full((rows, beam), NEVER, device=tokens.device)
    after_blank[:, 0] = 0.0
    after_word = torch.full_like(after_blank, NEVER)
    last = torch.full_like(after_blank, _NOTHING, dtype=torch.long)
    places = torch.arange(beam, device=tokens.device)
    name = places.neg().expand(rows, -1)
    parents, added = [], []
    for slot in range(slots):
        word, score = tokens[:, slot], log_probs[:, slot]  # (R, C)
        both = torch.logaddexp(after_blank, after_word)
        same = word[:, None] == last[..., None]  # (R, B, C)
        # Its last word again is no new one.
        again = score[:, None].expand(-1, beam, -1).masked_fill(~same, NEVER).amax(2)
        stays_blank = both + blank[:, slot, None]
        stays_word = after_word + again
        grown = torch.where(same, after_blank[..., None], both[..., None]) + score[:, None]
        grown_name = name[..., None] * _BASE + word[:, None] + 1
        # A prefix that grows into one that is there already is the same. Which of the two it is
        # traced back to is a matter of which is the more probable.
        known = grown_name.flatten(1)[:, :, None] == name[:, None]  # (R, B C, B)
        joined, grower = grown.flatten(1)[:, :, None].masked_fill(~known, NEVER).max(1)
        regrown = joined > torch.logaddexp(stays_blank, stays_word)
        stays_word = torch.logaddexp(stays_word, joined)
        grown = grown.flatten(1).masked_fill(known.any(2), NEVER)
        total = torch.cat([torch.logaddexp(stays_blank, stays_word), grown], 1)
        best = total.topk(beam, 1).indices  # (R, B)
        stays, kept, new = best < beam, best.clamp(max=beam - 1), (best - beam).clamp(min=0)
        words_of_kept, regrown = last.gather(1, kept), stays & regrown.gather(1, kept)
        grower = torch.where(stays, grower.gather(1, kept), new)
        word = torch.where(stays, words_of_kept, word.gather(1, new % choices))
        going = (slot < lengths)[:, None]
        grows = going & (~stays | regrown)
        parents.append(torch.where(going, torch.where(grows, grower // choices, kept), places))
        added.append(torch.where(grows, word, _NOTHING))
        states = (
            (torch.where(stays, stays_blank.gather(1, kept), NEVER), after_blank),
            (torch.where(stays, stays_word.gather(1, kept), grown.gather(1, new)), after_word),
            (word, last),
            (torch.where(stays, name.gather(1, kept), grown_name.flatten(1).gather(1, new)), name),
        )
        after_blank, after_word, last, name = (
            torch.where(going, after, before) for after, before in states
        )
    total = torch.logaddexp(after_blank, after_word)
    return _traced(parents, added, -total)


def _traced(parents: list[Tensor], added: list[Tensor], nll: Tensor) -> Prefixes:
    """The words of the last prefixes and their slots, from what each slot added to which."""
    nll, order = nll.sort(1)
    here, path = order, []
    for parent, word in zip(parents[::-1], added[::-1], strict=True):
        path.append(word.gather(1, here))
        here = parent.gather(1, here)
    path = torch.stack(path[::-1], 2)  # (R, B, S)
    written = path != _NOTHING
    width = max(1, int(written.sum(2).amax()))
    # Words first, in the order of their slots.
    slots = (~written).int().argsort(dim=2, stable=True)[..., :width]
    tokens = path.gather(2, slots)
    return Prefixes(tokens, slots.masked_fill(tokens == _NOTHING, 0), nll)
