"""Hypotheses in the order that an autoregressive model gives them (Gu et al., 2018, Section 4.1).

It reads all of them at once, each word after the words before it that are already there: one pass,
where writing them takes one for each word. Hypotheses of a search begin alike; the vocabulary after
the same words is computed once.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from fairseq.models import FairseqDecoder, FairseqIncrementalDecoder
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fairseq_xling.data.folder import PAD, SEP
from fairseq_xling.data.plan import Limits, cut

Hypothesis = dict[str, Any]
PARTS = "parts"  # of a hypothesis that was rescored, what its score is made of; see `weighed`
_WORDS = 512  # read at a time, at least: a sentence alone has few, and many hypotheses
_NO_FEATURES = (FairseqDecoder.extract_features, FairseqIncrementalDecoder.extract_features)


class Rescorer:
    """The score of each hypothesis becomes

        (1 - weight) log P(its words, by the model that wrote it) + weight log P(by ``model``)
        + bonus (number of words)

    in nats. The first is the sum of its ``positional_scores``, with what an n-gram model and a
    lattice's bonus for each word have added; the second counts ``</s>``, too. None is divided by
    the length; a probability alone prefers short translations, the more so the longer the list. The
    defaults are near the best for four target languages (`benchmarks/README.md`).

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
        """``found`` with new scores and their `PARTS`, best first.

        Args:
            src_tokens: (B, T), framed by ``<s>`` and ``</s>``.
            src_lengths: (B,), with both.
            found: for each of the B sentences its hypotheses.
        """
        texts = [[words_of(one) for one in block] for block in found]
        others = self.log_probs(src_tokens, src_lengths, texts)
        rescored = []
        for block, words, other in zip(found, texts, others, strict=True):
            own = [float(one["positional_scores"].sum()) for one in block]
            parts = np.array([own, other, [len(text) for text in words]], dtype=np.float64).T
            scores = weighed(parts, self.weight, self.bonus)
            rescored.append(
                [
                    {**block[place], "score": float(scores[place]), PARTS: parts[place]}
                    for place in (-scores).argsort(kind="stable").tolist()
                ]
            )
        return rescored

    @torch.no_grad()
    def log_probs(
        self, src_tokens: Tensor, src_lengths: Tensor, texts: Sequence[Sequence[list[int]]]
    ) -> list[list[float]]:
        """log P of each of the ``texts`` of each source by the model, in nats.

        Args:
            src_tokens, src_lengths: as of a call.
            texts: for each of the B sentences its translations, without the ``</s>``, which counts.
        """
        device = src_tokens.device
        self.model.to(device)
        # Recurrent encoders take the longest first; these models know no <s>.
        falling = src_lengths.argsort(descending=True, stable=True)
        rows = [src_tokens[row, 1 : src_lengths[row]] for row in falling.tolist()]
        sources = pad_sequence(rows, True, PAD, padding_side="left")
        encoded = self.model.encoder(sources, src_lengths=src_lengths[falling] - 1)
        place = falling.argsort()
        # Those that begin alike stand next to each other, in the same group if they fit.
        longest = [max(map(len, block), default=0) for block in texts]
        order = sorted(
            ((n, k) for n, block in enumerate(texts) for k in range(len(block))),
            key=lambda one: (longest[one[0]], one[0], texts[one[0]][one[1]]),
        )
        widths = np.array([longest[n] + 1 for n, _ in order])
        scores = [[0.0] * len(block) for block in texts]
        # As many words at a time as the sources have, so that memory does not grow with the list.
        for group in cut(widths, Limits(max(sources.numel(), _WORDS), None)):
            chosen = [order[i] for i in group.tolist()]
            target = [torch.tensor([*texts[n][k], SEP]) for n, k in chosen]
            sentences = place[torch.tensor([n for n, _ in chosen], device=device)]
            # Of a copy: fairseq's convolutional encoder changes what it is given.
            encoder_out = self.model.encoder.reorder_encoder_out(copy.copy(encoded), sentences)
            padded = pad_sequence(target, True, PAD).to(device)
            values = self._log_probs(padded, sentences, encoder_out).tolist()
            for (n, k), value in zip(chosen, values, strict=True):
                scores[n][k] = value
        return scores

    def _log_probs(self, target: Tensor, sentences: Tensor, encoder_out: Any) -> Tensor:
        """log P, (R,), of ``target`` (R, U), which translates ``sentences`` (R,)."""
        prev_output_tokens = target.roll(1, 1)
        prev_output_tokens[:, 0] = SEP  # what was before the first word, in fairseq's models
        decoder, real = self.model.decoder, target != PAD
        if type(decoder).extract_features in _NO_FEATURES:
            logits, _ = decoder(prev_output_tokens, encoder_out=encoder_out)
            each = self._normalized(logits).gather(2, target[..., None])[..., 0]
            return (each * real).sum(1)
        states, _ = decoder.extract_features(prev_output_tokens, encoder_out=encoder_out)
        first, row = distinct_prefixes(prev_output_tokens, sentences)
        first &= real
        log_probs = self._normalized(decoder.output_layer(states[first][None]))[0]
        numbers = (first.flatten().cumsum(0) - 1).view_as(row)
        each = log_probs.new_zeros(target.shape)
        each[real] = log_probs[numbers.gather(0, row)[real], target[real]]
        return each.sum(1)

    def _normalized(self, logits: Tensor) -> Tensor:
        return self.model.get_normalized_probs((logits, None), log_probs=True).float()


def words_of(hypothesis: Hypothesis) -> list[int]:
    """Its tokens, without the ``</s>``."""
    return [token for token in hypothesis["tokens"].tolist() if token != SEP]


def weighed(parts: np.ndarray, weight: float, bonus: float) -> np.ndarray:
    """The scores (n,) of `Rescorer` from their parts (n, 3): both log-probabilities, and words.

    >>> weighed(np.array([[-4.0, -2.0, 3], [-np.inf, -3.0, 1]]), 1.0, 0.5)
    array([-0.5, -2.5])
    """
    factors = np.array([1 - weight, weight, bonus])
    counts = factors != 0  # the others may be infinite
    return parts[:, counts] @ factors[counts]


def distinct_prefixes(tokens: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:
    """Which prefixes of rows that are sorted, by sentence and then by words, are new.

    Args:
        tokens: (R, U); sentences: (R,), only rows of one sentence have prefixes in common.

    Returns:
        (R, U), whether the row above does not begin with the same tokens up to there, and (R, U),
        the number of the row where that beginning is new.

    >>> tokens = torch.tensor([[2, 7, 8], [2, 7, 9], [2, 8, 9]])
    >>> first, row = distinct_prefixes(tokens, torch.tensor([0, 0, 0]))
    >>> first.tolist()
    [[True, True, True], [False, False, True], [False, True, True]]
    >>> row.tolist()
    [[0, 0, 0], [0, 0, 1], [0, 2, 2]]
    """
    same = (tokens[1:] == tokens[:-1]) & (sentences[1:] == sentences[:-1])[:, None]
    first = torch.ones_like(tokens, dtype=torch.bool)
    first[1:] = same.long().cumprod(1) == 0
    rows = torch.arange(len(tokens), device=tokens.device)[:, None]
    return first, (rows * first).cummax(0).values
