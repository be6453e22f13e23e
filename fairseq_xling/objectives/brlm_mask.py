"""Bridge language modelling by masking: words are masked with the words aligned with them.

A reimplementation: TreLM (Li et al., 2021, Appendix A.4) compares with BRLM and only cites it (Ji
et al., 2020, "Cross-lingual Pre-training Based Transfer for Zero-shot Neural Machine Translation"),
which has no public code. TLM masks words of both sides at random, and a masked word is easily
copied from its visible translation. Here the unit of masking is an aligned pair: both of its ends
are masked and predicted, so the bridge between the languages must come from context.
"""

import numpy as np

from fairseq_xling.data.example import Example, require_alignment
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.tlm import TranslationLM


@objectives.register("brlm-mask")
class BridgeMaskedLM(TranslationLM):
    """TLM whose masked positions are both ends of word alignment links."""

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
