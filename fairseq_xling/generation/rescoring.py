"""Hypotheses in the order that an autoregressive model gives them (Gu et al., 2018, Section 4.1).

It reads all of them at once, each word after the words before it that are already there: one pass,
where writing them takes one for each word. Hypotheses of a search begin alike, and what comes after
the same words is computed once for all vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.models import FairseqDecoder
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fairseq_xling.data.folder import PAD, SEP
from fairseq_xling.data.plan import Limits, cut

Hypothesis = dict[str, Any]
_WORDS = 512  # read at a time, at least; a sentence alone has fewer, and many hypotheses


class Rescorer:
    """The score of each hypothesis becomes

        (1 - weight) own score + weight log P(hypothesis | source) + bonus (words)

    in nats, where P is that of ``model``, ``</s>`` included but not a word. Neither is divided by
    the length; a probability alone prefers short ones, the more so the longer the list. The
    defaults are near the best for three target languages (`benchmarks/README.md`).

    Args:
        model: of fairseq's encoder-decoder kind, in evaluation mode.
        weight: in [0, 1].
        bonus: of each word.
    """

    def __init__(self, model: Any, weight: float = 0.7, bonus: float = 0.5):
        self.model, self.weight, self.bonus = model, weight, bonus

    def __call__(
        self, src_tokens: Tensor, src_lengths: Tensor, found: Sequence[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """``found`` with new scores, best first.

        Args:
            src_tokens: (B, T), framed by ``<s>`` and ``</s>``.
            src_lengths: (B,), with both.
            found: for each of the B sentences its hypotheses.
        """
        texts = [[one["tokens"][one["tokens"] != SEP].tolist() for one in block] for block in found]
        rescored = []
        scores = self.log_probs(src_tokens, src_lengths, texts)
        for block, words, theirs in zip(found, texts, scores, strict=True):
            new = [
                {**one, "score": self._mixed(one["score"], other) + self.bonus * len(text)}
                for one, text, other in zip(block, words, theirs, strict=True)
            ]
            rescored.append(sorted(new, key=lambda one: -one["score"]))
        return rescored

    def _mixed(self, own: Any, other: float) -> float:
        # Nothing of its own score, even of an infinite one.
        return other if self.weight == 1 else float(own) * (1 - self.weight) + other * self.weight

    @torch.no_grad()
    def log_probs(
        self, src_tokens: Tensor, src_lengths: Tensor, texts: Sequence[Sequence[list[int]]]
    ) -> list[list[float]]:
        """log P of each of the ``texts`` of each source, without their ``</s>``, which counts.

        Args:
            src_tokens, src_lengths: as of a call.
        """
        device = src_tokens.device
        self.model.to(device)
        rows = [
            row[1:size] for row, size in zip(src_tokens, src_lengths.tolist(), strict=True)
        ]  # these models know no <s>
        sources = pad_sequence(rows, True, PAD, padding_side="left")
        encoded = self.model.encoder(sources, src_lengths=src_lengths - 1)
        # Those that begin alike stand next to each other, in the same group if they fit.
        longest = [max(map(len, block), default=0) for block in texts]
        order = sorted(
            ((n, k) for n, block in enumerate(texts) for k in range(len(block))),
            key=lambda one: (longest[one[0]], one[0], texts[one[0]][one[1]]),
        )
        widths = np.array([longest[n] + 1 for n, _ in order])
        scores = [[0.0] * len(block) for block in texts]
        # As many words at a time as the source has, so memory stays what it was.
        for group in cut(widths, Limits(max(sources.numel(), _WORDS), None)):
            own = [order[i] for i in group.tolist()]
            target = [torch.tensor([*texts[n][k], SEP]) for n, k in own]
            of = torch.tensor([n for n, _ in own], device=device)
            sides = self.model.encoder.reorder_encoder_out(encoded, of)
            found = self._read(pad_sequence(target, True, PAD).to(device), of, sides)
            for (n, k), value in zip(own, found.tolist(), strict=True):
                scores[n][k] = value
        return scores

    def _read(self, target: Tensor, of: Tensor, sides: Any) -> Tensor:
        """log P of ``target`` (R, U), (R,), after sources ``of`` (R,) in the encoder's output."""
        before = target.roll(1, 1)
        before[:, 0] = SEP  # what was before the first word, in fairseq's models
        decoder, real = self.model.decoder, target != PAD
        if type(decoder).extract_features is FairseqDecoder.extract_features:
            logits, _ = decoder(before, encoder_out=sides)
            each = self._normalized(logits).gather(2, target[..., None])[..., 0]
            return (each * real).sum(1)
        states, _ = decoder.extract_features(before, encoder_out=sides)
        first, where = distinct_prefixes(before, of)
        first &= real
        log_probs = self._normalized(decoder.output_layer(states[first][None]))[0]
        numbers = (first.flatten().cumsum(0) - 1).view_as(where)
        each = log_probs.new_zeros(target.shape)
        each[real] = log_probs[numbers.gather(0, where)[real], target[real]]
        return each.sum(1)

    def _normalized(self, logits: Tensor) -> Tensor:
        return self.model.get_normalized_probs((logits, None), log_probs=True).float()


def distinct_prefixes(before: Tensor, of: Tensor) -> tuple[Tensor, Tensor]:
    """Where a row first reads what it has read, among rows that are sorted by ``of`` and words.

    Args:
        before: (R, U), what each row reads; of: (R,), whose rows alone can be alike.

    Returns:
        (R, U), whether the row above has not read the same up to there, and (R, U), the number of
        the row that did so first.

    >>> before = torch.tensor([[2, 7, 8], [2, 7, 9], [2, 8, 9]])
    >>> first, row = distinct_prefixes(before, torch.tensor([0, 0, 0]))
    >>> first.tolist()
    [[True, True, True], [False, False, True], [False, True, True]]
    >>> row.tolist()
    [[0, 0, 0], [0, 0, 1], [0, 2, 2]]
    """
    same = (before[1:] == before[:-1]) & (of[1:] == of[:-1])[:, None]
    first = torch.ones_like(before, dtype=torch.bool)
    first[1:] = same.long().cumprod(1) == 0
    rows = torch.arange(len(before), device=before.device)[:, None]
    return first, (rows * first).cummax(0).values
