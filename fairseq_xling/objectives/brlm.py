"""Bridge language modelling (BRLM), by masking and by attention.

A reimplementation: TreLM (Li et al., 2021, Appendix A.4) compares with BRLM and only cites it (Ji
et al., 2020, "Cross-lingual Pre-training Based Transfer for Zero-shot Neural Machine Translation"),
which has no public code.
"""

import numpy as np

from fairseq_xling.data.example import Example, require_alignment
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.tlm import TranslationLM

_FIRST = 3  # group 0 is no group (and the null state's), 1 and 2 are the unaligned words


@objectives.register("brlm-attn")
class BridgeAttentionLM(TranslationLM):
    """TLM with attention inside groups: a source word and all target words aligned with it are one,
    so a masked word must be predicted from its bridge alone. The unaligned words of each language
    form one group."""

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


@objectives.register("brlm-mask")
class BridgeMaskedLM(TranslationLM):
    """TLM whose masked positions are both ends of word alignment links.

    TLM masks words of both sides at random, and a masked word is easily copied from its visible
    translation. Here the unit of masking is an aligned pair: both of its ends are masked and
    predicted, so the bridge between the languages must come from context.
    """

    name = "brlm-mask"
    needs_order = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        require_alignment(row, self.name)
        chosen = self.choose_links(row, rng)
        return self.concatenate([row.source, row.target], chosen, rng)

    def choose_links(self, row: Row, rng: np.random.Generator) -> list[np.ndarray]:
        """Masked positions of both sides: source words at `--mask-prob`, and all their links."""
        source, target, order = row.source.tokens, row.target.tokens, row.order
        linked = (order >= 0) & (target >= SPECIALS)
        linked[linked] = source[order[linked]] >= SPECIALS
        bridges = np.unique(order[linked])
        count = int(self.cfg.mask_prob * len(bridges) + rng.random())
        hidden = np.zeros(len(source), dtype=bool)
        hidden[rng.permutation(bridges)[:count]] = True
        return [hidden, linked & hidden[order]]
