"""Masked language modelling: S = X with C masked, A = identity, W = X, C = 15 % of positions.

Devlin et al. (2019); Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.1.
"""

import numpy as np

from fairseq_xling.data.example import Example, Objective
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.masking import choose, corrupt


@objectives.register("mlm")
class MaskedLM(Objective):
    """Predict masked tokens of one language from the rest of its text."""

    name = "mlm"
    spec_rows = ("P1", "P2")
    reads = "mono"

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        tokens, lang = row.source.tokens, row.source.lang
        chosen = self.choose(tokens, rng)
        hidden = self.hide(tokens, chosen, lang, rng)
        side = self.vocabulary.side(row.source)
        return Example(src={**side, "tokens": hidden}, tgt={**side, "predict": chosen})

    def choose(self, tokens: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """C: the positions of ``tokens`` (n,) to predict, (n,) bool."""
        return choose(tokens, self.cfg.mask_prob, rng)

    def hide(
        self, tokens: np.ndarray, chosen: np.ndarray, lang: str, rng: np.random.Generator
    ) -> np.ndarray:
        """S: ``tokens`` (n,) with the ``chosen`` (n,) masked."""
        cfg = self.cfg
        replacements: np.ndarray | int = self.vocabulary.sizes[lang]
        if cfg.random_within_language:
            replacements = self.vocabulary.own[lang]
        return corrupt(
            tokens, chosen, replacements, rng, leave=cfg.leave_unmasked, random=cfg.random_token
        )
