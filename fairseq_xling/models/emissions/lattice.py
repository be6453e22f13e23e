"""A directed acyclic graph over slots: each of its paths is a translation.

Each source position has k slots, in the order of the source. A translation is a path from the first
slot to the last: between them, each slot on it writes a word and says which later slot comes next.
The loss sums over all paths of the translation's length (Huang et al., 2022, "Directed Acyclic
Transformer for Non-Autoregressive Machine Translation"), so that several translations of a sentence
need not be mixed: they are different paths.

R rows, S slots, U words, D width, H heads.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import NULL, PAD, SEP, UNK
from fairseq_xling.models.best_tokens import best_few, best_tokens
from fairseq_xling.models.emissions import (
    Best,
    Logits,
    Placed,
    Reading,
    Written,
    emissions,
)
from fairseq_xling.models.emissions.repeated import CHOICES, Repeated, at_slots, searched
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.lattice_beam import lattice_beam
from fairseq_xling.models.lattice_paths import (
    NEVER,
    ahead,
    best_path,
    lattice_loss,
    visits,
)

# The least probability of a visit to a slot whose words are looked for. Of three translators to
# German, Chinese and Japanese four slots of ten have it.
VISITED = 0.01


@emissions.register("lattice")
class Lattice(Repeated):
    """Which slot comes next is a mixture of H attentions, as in the paper, Section 3.1."""

    upsample: ClassVar[int] = 4  # a path leaves slots out
    # Each word costs something, so that the likeliest path is a short one. With 0.5, translators to
    # four languages are within 0.3 BLEU of their best on the validation text.
    tuned: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "word_bonus": (*(tenth / 10 for tenth in range(11)), 1.25, 1.5, 2.0)
    }
    untuned: ClassVar[Mapping[str, float]] = {"word_bonus": 0.5}
    options: ClassVar[tuple[str, ...]] = ("lookahead",)
    searches: ClassVar[bool] = True
    lists: ClassVar[bool] = True

    def __init__(self, shape: EncoderShape):
        super().__init__(shape)
        self.query = nn.Linear(shape.dim, shape.dim)
        self.key = nn.Linear(shape.dim, shape.dim)
        self.gate = nn.Linear(shape.dim, shape.heads)

    def fits(self, placed: Placed, words: Tensor, sizes: Tensor) -> Tensor:
        """The first and the last slot write nothing."""
        return sizes + 2 <= placed.lengths

    def steps(self, states: Tensor, lengths: Tensor) -> Tensor:
        """log-probabilities (R, S, S) float32 that a slot comes after another; `NEVER` unless it is
        a later one of the row."""
        rows, slots, dim = states.shape
        heads = self.shape.heads
        query, key = (
            layer(states).view(rows, slots, heads, dim // heads).transpose(1, 2)
            for layer in (self.query, self.key)
        )
        scores = (query @ key.transpose(2, 3)).float() * (dim // heads) ** -0.5  # (R, H, S, S)
        place = torch.arange(slots, device=states.device)
        later = (place > place[:, None]) & (place < lengths[:, None, None])
        each = scores.masked_fill(~later[:, None], NEVER).log_softmax(-1)
        gates = self.gate(states).float().log_softmax(-1).transpose(1, 2)  # (R, H, S)
        return (each + gates[..., None]).logsumexp(1).masked_fill(~later, NEVER)

    def loss(
        self, states: Tensor, placed: Placed, words: Tensor, sizes: Tensor, logits: Logits
    ) -> Tensor:
        emitted = _emitted(logits(states.flatten(0, 1)), words)
        nll = lattice_loss(self.steps(states, placed.lengths), emitted, placed.lengths, sizes)
        return nll.masked_fill(~self.fits(placed, words, sizes), 0.0)

    def best(
        self, states: Tensor, placed: Placed, words: Tensor, sizes: Tensor, logits: Logits
    ) -> Best:
        found = logits(states.flatten(0, 1))
        emitted, steps = _emitted(found, words), self.steps(states, placed.lengths)
        fits = self.fits(placed, words, sizes)
        slots = best_path(steps, emitted, placed.lengths, sizes)
        written = (torch.arange(words.shape[1], device=words.device) < sizes[:, None]) & fits[
            :, None
        ]
        path = words.new_full(states.shape[:2], -1)
        rows, places = written.nonzero(as_tuple=True)
        path[rows, slots[rows, places]] = words[rows, places]
        nll = lattice_loss(steps, emitted, placed.lengths, sizes).masked_fill(~fits, 0.0)
        return Best(path, found.argmax(-1).view_as(path), nll)

    def write(
        self,
        states: Sequence[Tensor],
        placed: Placed,
        logits: Sequence[Logits],
        reading: Reading,
    ) -> Written:
        """The likeliest path of all with the best word at each slot; ``</s>`` stands at the last.

        So in Shao et al., 2022, "Viterbi Decoding of Directed Acyclic Transformer", who divide by
        the length; here a bonus is added for each word. With ``reading.lookahead`` the next slot is
        the likeliest one after this with its word (Huang et al., 2022, Section 3.3). With a beam,
        the best translations of a search.

        Raises:
            UserError: for several models, whose graphs have no slots in common.
        """
        if len(states) > 1:
            raise UserError("`--path` must name one model with `--emission lattice`, got several")
        lengths = placed.lengths
        slots = states[0].shape[1]
        steps = self.steps(states[0], lengths)
        read, last = _worth_reading(steps, lengths), (lengths - 1)[:, None]
        allowed, few = {UNK: reading.unk_penalty}, reading.few(read)
        bonus = self.of(reading, "word_bonus")
        if reading.beam > 1:
            words, scores, _ = best_few([states[0][read]], logits, allowed, NULL, CHOICES, few)
            tokens = words.new_zeros(*read.shape, words.shape[1])
            log_probs = scores.new_full(tokens.shape, NEVER)
            tokens[read], log_probs[read] = words, scores + bonus
            return searched(lattice_beam(steps, tokens, log_probs, lengths, reading.beam))
        found = best_tokens([states[0][read]], logits, allowed, few)
        best = lengths.new_full(read.shape, SEP)
        best[read] = found[0]
        log_probs = found[1].new_full(read.shape, NEVER).scatter(1, last, 0.0)
        log_probs[read] = found[1]
        plain = steps + log_probs[:, None]
        scores = plain
        if not reading.lookahead:
            scores = plain + bonus * read[:, None]
            scores = scores + ahead(scores, lengths)[:, None]
        here, parts = lengths.new_zeros(len(lengths), 1), []
        for _ in range(slots):  # of states that are not finite, a path need not end
            if bool((here == last).all()):
                break
            way = here[..., None].expand(-1, 1, slots)
            there = scores.gather(1, way)[:, 0].argmax(1, keepdim=True)
            value = plain.gather(1, way)[:, 0].gather(1, there)
            ended = here == last
            here = torch.where(ended, here, there)
            parts.append((here, value.masked_fill(ended, 0.0), ~ended))
        chosen, values, real = (torch.cat(part, 1) for part in zip(*parts, strict=True))
        tokens = best.gather(1, chosen).masked_fill(~real, PAD)
        return Written(tokens, values, chosen, real & (tokens != SEP), real, real.sum(1))


def _worth_reading(steps: Tensor, lengths: Tensor) -> Tensor:
    """The slots that enough paths visit, whatever they write, (R, S) bool; not the first and last.

    The words of the others cost time, and are almost never written. Each is looked for where all
    slots are equally likely.
    """
    place = torch.arange(steps.shape[1], device=steps.device)
    inside = (place > 0) & (place < lengths[:, None] - 1)
    least = (1 / lengths).clamp(max=VISITED)[:, None]
    return inside & (visits(steps) >= least)


def _emitted(logits: Tensor, words: Tensor) -> Tensor:
    """(R, U, S) log-probabilities of the words at each slot from (R S, V) logits."""
    return at_slots(logits, words).transpose(1, 2)
