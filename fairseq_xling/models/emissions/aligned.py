"""A word at each slot: every position of the translation is one, and an ordering arranges them.

TreLM (Li et al., 2021), Appendix A.7: consecutive repeats are collapsed, and everything after the
first ``</s>`` is cut.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from fairseq_xling.data.batch import target_side
from fairseq_xling.data.folder import PAD, SEP, UNK
from fairseq_xling.models.best_tokens import best_tokens
from fairseq_xling.models.emissions import Emission, Logits, Placed, Reading, Written, emissions


@emissions.register("aligned")
class Aligned(Emission):
    """The (S, A, W, C) of the paper, with a cross-entropy at each position."""

    in_order: ClassVar[bool] = True
    lists: ClassVar[bool] = True

    def facts(self) -> Mapping[str, Any]:
        """Nothing: checkpoints that are older than the other emissions do not name theirs."""
        return {}

    def place(
        self,
        lengths: Tensor,
        order: Tensor | None,
        langs: Tensor,
        extent: tuple[int, bool] | None = None,
    ) -> Placed:
        return Placed(target_side(lengths, langs, extent), order, lengths)

    def write(
        self,
        states: Sequence[Tensor],
        placed: Placed,
        logits: Sequence[Logits],
        reading: Reading,
    ) -> Written:
        """All but the ``<s>`` of the first slot."""
        lengths = placed.lengths - 1
        places = torch.arange(states[0].shape[1] - 1, device=lengths.device)
        real = places < lengths[:, None]
        allowed = {SEP: 0.0, UNK: reading.unk_penalty}
        found = best_tokens(
            [state[:, 1:][real] for state in states],
            logits,
            allowed,
            reading.few(real),
            reading.scored,
        )
        tokens = lengths.new_full(real.shape, PAD)
        tokens[real] = found[0]
        log_probs = found[1].new_zeros(real.shape)
        log_probs[real] = found[1]
        slots = (places + 1).expand_as(tokens)
        keep = kept(tokens, real, reading.keep_repeats)
        return Written(tokens, log_probs, slots, real & ~ended(tokens), keep, lengths)


def kept(tokens: Tensor, real: Tensor, keep_repeats: bool = False) -> Tensor:
    """Which of the predicted ``tokens`` (R, W) the translation consists of, (R, W) bool.

    Everything after the first ``</s>`` is left out, and so are consecutive repeats (TreLM,
    Appendix A.7, Table 6), unless ``keep_repeats``.

    Args:
        real: (R, W), False at padding.

    >>> tokens = torch.tensor([[7, 7, 8, 2, 9]])  # a a b </s> c
    >>> tokens[kept(tokens, torch.ones(1, 5, dtype=torch.bool))].tolist()
    [7, 8, 2]
    """
    keep = real & ~ended(tokens)
    if not keep_repeats:
        keep[:, 1:] &= tokens[:, 1:] != tokens[:, :-1]
    return keep


def ended(tokens: Tensor) -> Tensor:
    """(R, W) bool: True after the first ``</s>`` of a row."""
    ends = (tokens == SEP).int()
    return ends.cumsum(1) > ends
