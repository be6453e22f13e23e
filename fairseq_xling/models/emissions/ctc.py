"""Connectionist temporal classification: several slots a source position, most of which are blank.

Each source position has k slots, in the order of the source. A slot writes a word or nothing;
consecutive repeats of a word are one. The loss sums over all ways in which the slots can write the
translation (Graves et al., 2006; for translation Libovicky and Helcl, 2018, and Gu and Kong, 2021),
so neither an alignment nor an order is needed: slots may write what their neighbours know.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.data.folder import NULL, SEP, UNK
from fairseq_xling.models.best_tokens import best_few, best_tokens
from fairseq_xling.models.ctc_beam import prefix_beam
from fairseq_xling.models.emissions import (
    Best,
    Logits,
    Placed,
    Reading,
    Written,
    emissions,
)
from fairseq_xling.models.emissions.repeated import CHOICES, Repeated, at_slots, searched
from fairseq_xling.models.lattice_paths import NEVER

BLANK = NULL


@emissions.register("ctc")
class Ctc(Repeated):
    """Slots of one position differ by the embedding of their number."""

    # Trained for probable alignments, a model writes too little; by how much falls as it learns.
    tuned: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "blank_penalty": (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
    }
    searches: ClassVar[bool] = True
    lists: ClassVar[bool] = True

    def fits(self, placed: Placed, words: Tensor, sizes: Tensor) -> Tensor:
        """Two equal words in a row need a blank between them."""
        places = torch.arange(1, words.shape[1], device=words.device)
        equal = (words[:, 1:] == words[:, :-1]) & (places < sizes[:, None])
        return sizes + equal.sum(1) <= placed.lengths

    def loss(
        self, states: Tensor, placed: Placed, words: Tensor, sizes: Tensor, logits: Logits
    ) -> Tensor:
        scores = _scores(logits(states.flatten(0, 1)), words)
        nll = ctc_loss(scores, words, placed.lengths, sizes)
        return nll.masked_fill(~self.fits(placed, words, sizes), 0.0)

    def best(
        self, states: Tensor, placed: Placed, words: Tensor, sizes: Tensor, logits: Logits
    ) -> Best:
        found = logits(states.flatten(0, 1))
        scores = _scores(found, words)
        fits = self.fits(placed, words, sizes)
        column = ctc_path(scores, words, placed.lengths, sizes)
        path = F.pad(words, (1, 0), value=BLANK).gather(1, column.clamp(min=0))
        path = path.masked_fill((column < 0) | ~fits[:, None], -1)
        nll = ctc_loss(scores, words, placed.lengths, sizes).masked_fill(~fits, 0.0)
        return Best(path, found.argmax(-1).view_as(path), nll)

    def write(
        self,
        states: Sequence[Tensor],
        placed: Placed,
        logits: Sequence[Logits],
        reading: Reading,
    ) -> Written:
        """The best token of each slot, or the best translations of a beam search; an ``</s>`` is
        appended, which costs nothing."""
        if reading.beam > 1:
            return self._searched(states, placed, logits, reading)
        lengths = placed.lengths
        rows, width = states[0].shape[:2]
        places = torch.arange(width + 1, device=lengths.device)
        inside = places < lengths[:, None]
        slots, allowed = inside[:, :-1], self._allowed(reading)
        few = reading.few(slots)
        found = best_tokens(
            [state[slots] for state in states], logits, allowed, few, reading.scored
        )
        tokens = lengths.new_full((rows, width + 1), SEP)
        tokens[inside] = found[0]
        log_probs = found[1].new_zeros(tokens.shape)
        log_probs[inside] = found[1]
        kept = collapsed(tokens) & (places <= lengths[:, None])
        return Written(
            tokens,
            log_probs,
            places.clamp(max=width - 1).expand_as(tokens),
            inside & (tokens != BLANK),
            kept,
            kept.sum(1),
        )

    def _allowed(self, reading: Reading) -> dict[int, float]:
        return {BLANK: self.of(reading, "blank_penalty"), UNK: reading.unk_penalty}

    def _searched(
        self,
        states: Sequence[Tensor],
        placed: Placed,
        logits: Sequence[Logits],
        reading: Reading,
    ) -> Written:
        """``reading.beam`` translations of each row."""
        lengths = placed.lengths
        rows, width = states[0].shape[:2]
        inside = torch.arange(width, device=lengths.device) < lengths[:, None]
        allowed, few = self._allowed(reading), reading.few(inside)
        words, log_probs, blank = best_few(
            [state[inside] for state in states], logits, allowed, BLANK, CHOICES, few
        )
        few = words.new_zeros(rows, width, words.shape[1])
        scores, blanks = log_probs.new_zeros(few.shape), blank.new_zeros(rows, width)
        few[inside], scores[inside], blanks[inside] = words, log_probs, blank
        return searched(prefix_beam(few, scores, blanks, lengths, reading.beam))


def _scores(logits: Tensor, words: Tensor) -> Tensor:
    """(R, S, 1 + U) log-probabilities of the blank and of the words from (R S, V) logits."""
    return at_slots(logits, F.pad(words, (1, 0), value=BLANK))


def ctc_loss(scores: Tensor, words: Tensor, lengths: Tensor, sizes: Tensor) -> Tensor:
    """The negative log-probability of the translations, (R,); about 1e30 where it is impossible.

    torch's own function would need the probabilities of all words at all slots.

    Args:
        scores: (R, S, 1 + U) log-probabilities of the blank and of the words.
        words: (R, U), to see which are equal; sizes: (R,) how many there are.
        lengths: (R,) slots.
    """
    alpha, emitted, skips = _start(scores, words)
    for slot in range(1, scores.shape[1]):
        after = _ways(alpha, skips).logsumexp(0) + emitted[:, slot]
        alpha = torch.where((slot < lengths)[:, None], after, alpha)
    return -_ends(alpha, sizes).logsumexp(0)


def ctc_path(scores: Tensor, words: Tensor, lengths: Tensor, sizes: Tensor) -> Tensor:
    """The likeliest alignment (R, S): 0 for the blank, n + 1 for word n, -1 after the last slot.

    Arguments as of `ctc_loss`.
    """
    alpha, emitted, skips = _start(scores, words)
    steps = []
    for slot in range(1, scores.shape[1]):
        best, step = _ways(alpha, skips).max(0)
        alpha = torch.where((slot < lengths)[:, None], best + emitted[:, slot], alpha)
        steps.append(step)
    state = 2 * sizes - _ends(alpha, sizes).argmax(0)
    states = []
    for slot in range(scores.shape[1] - 1, -1, -1):
        states.append(torch.where(slot < lengths, state, -1))
        if slot:
            back = steps[slot - 1].gather(1, state[:, None])[:, 0]
            state = torch.where(slot < lengths, state - back, state)
    path = torch.stack(states[::-1], 1)
    return torch.where(path < 0, path, torch.where(path % 2 == 0, 0, path // 2 + 1))


def _start(scores: Tensor, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """States are blank, word 0, blank, word 1, ..., blank, N = 2 U + 1 of them.

    Returns their log-probabilities at the first slot (R, N), those of what they write at each slot
    (R, S, N), and which of them can follow the last but one (R, N).
    """
    index = torch.arange(2 * words.shape[1] + 1, device=words.device)
    emitted = scores[:, :, torch.where(index % 2 == 0, 0, index // 2 + 1)]
    skips = torch.zeros(len(words), len(index), dtype=torch.bool, device=words.device)
    skips[:, 3::2] = words[:, 1:] != words[:, :-1]
    return emitted[:, 0].masked_fill(index > 1, NEVER), emitted, skips


def _ways(alpha: Tensor, skips: Tensor) -> Tensor:
    """(3, R, N): where each state can come from: itself, the one before, or the last but one."""
    one = F.pad(alpha, (1, 0), value=NEVER)[:, :-1]
    two = F.pad(alpha, (2, 0), value=NEVER)[:, :-2].masked_fill(~skips, NEVER)
    return torch.stack([alpha, one, two])


def _ends(alpha: Tensor, sizes: Tensor) -> Tensor:
    """(2, R): a translation ends in the last blank or in its last word, if it has one."""
    last = 2 * sizes[:, None]
    blank, word = (alpha.gather(1, (last - n).clamp(min=0))[:, 0] for n in (0, 1))
    return torch.stack([blank, word.masked_fill(sizes == 0, NEVER)])


def collapsed(path: Tensor) -> Tensor:
    """Which tokens of a path (R, S) the text consists of, (R, S) bool: no blank, no repeat.

    >>> path = torch.tensor([[7, 7, 5, 7, 8, 5, 5]])  # a a _ a b _ _
    >>> path[collapsed(path)].tolist()
    [7, 7, 8]
    """
    keep = path != BLANK
    keep[:, 1:] &= path[:, 1:] != path[:, :-1]
    return keep
