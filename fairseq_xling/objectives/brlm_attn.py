"""Bridge language modelling by attention: words attend only to the words aligned with them.

A reimplementation, like `brlm_mask` (TreLM, Appendix A.4; Ji et al., 2020). Attention is restricted
to groups: a source word and all target words aligned with it are one group, so a masked word must
be predicted from its bridge alone. The unaligned words of each language form one group.
"""

import numpy as np

from fairseq_xling.data.example import Example, require_alignment
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.tlm import TranslationLM

_FIRST = 3  # group 0 is no group (and the null state's), 1 and 2 are the unaligned words


@objectives.register("brlm-attn")
class BridgeAttentionLM(TranslationLM):
    """TLM with attention inside groups of aligned words."""

    name = "brlm-attn"
    needs_order = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        require_alignment(row, self.name)
        example = super().__call__(row, rng)
        example.src["attn_group"] = groups(len(row.source.tokens), row.order)
        return example


def groups(source_length: int, order: np.ndarray) -> np.ndarray:
    """The group of each source position and then of each target position, (T + U,) int64.

    >>> groups(3, np.array([0, -1, 0, 2])).tolist()
    [3, 1, 5, 3, 2, 3, 5]
    """
    source = np.full(source_length, 1, dtype=np.int64)
    aligned = np.unique(order[order >= 0])
    source[aligned] = aligned + _FIRST
    target = np.where(order >= 0, order + _FIRST, 2)
    return np.concatenate([source, target])
