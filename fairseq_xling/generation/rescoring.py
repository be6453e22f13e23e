"""Hypotheses in the order that an autoregressive model gives them (Gu et al., 2018, Section 4.1).

It reads all of them at once, each word after the words before it that are already there: one pass,
where writing them takes one for each word.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fairseq_xling.data.folder import PAD, SEP
from fairseq_xling.data.plan import Limits, cut
from fairseq_xling.generation.autoregressive import load_autoregressive

Hypothesis = dict[str, Any]


class Rescorer:
    """The score of each hypothesis becomes its log-probability by ``model``, in nats, ``</s>``
    included. It is not divided by the length: means prefer the long ones of a long list (0.2 BLEU
    of 20 hypotheses on image captions).

    Args:
        model: of fairseq's encoder-decoder kind, in evaluation mode.
    """

    def __init__(self, model: Any):
        self.model = model

    @classmethod
    def load(cls, checkpoint: str, data: str | Path, pair: tuple[str, str]) -> "Rescorer":
        """From a checkpoint of `--task translation` with the vocabulary of ``data``.

        Raises:
            UserError: naming `--rescore`, see `load_autoregressive`.
        """
        return cls(load_autoregressive(checkpoint, data, pair, "--rescore"))

    @torch.no_grad()
    def __call__(
        self, src_tokens: Tensor, src_lengths: Tensor, found: Sequence[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """``found`` with new scores, best first.

        Args:
            src_tokens: (B, T), framed by ``<s>`` and ``</s>``.
            src_lengths: (B,), with both.
            found: for each of the B sentences its hypotheses.
        """
        device = src_tokens.device
        self.model.to(device)
        rows = [
            row[1:size] for row, size in zip(src_tokens, src_lengths.tolist(), strict=True)
        ]  # these models know no <s>
        sources = pad_sequence(rows, True, PAD, padding_side="left")
        encoded = self.model.encoder(sources, src_lengths=src_lengths - 1)
        end = torch.tensor([SEP])
        texts = [
            torch.cat([one["tokens"][one["tokens"] != SEP], end])
            for block in found
            for one in block
        ]
        own = torch.arange(len(found)).repeat_interleave(torch.tensor([*map(len, found)]))
        lengths = np.array([len(text) for text in texts])
        scores = torch.zeros(len(texts))
        # As many words at a time as the source has, so memory stays what it was.
        for group in cut(lengths, Limits(max(sources.numel(), int(lengths.max())), None)):
            target = pad_sequence([texts[i] for i in group.tolist()], True, PAD).to(device)
            before = target.roll(1, 1)
            before[:, 0] = SEP  # what was before the first word, in fairseq's models
            sides = self.model.encoder.reorder_encoder_out(encoded, own[group].to(device))
            decoded = self.model.decoder(before, encoder_out=sides)
            log_probs = self.model.get_normalized_probs(decoded, log_probs=True).float()
            each = log_probs.gather(2, target[..., None]).squeeze(2)
            real = target != PAD
            scores[torch.from_numpy(group)] = (each * real).sum(1).cpu()
        values = iter(scores.tolist())
        rescored = [[{**one, "score": next(values)} for one in block] for block in found]
        return [sorted(block, key=lambda one: -one["score"]) for block in rescored]
