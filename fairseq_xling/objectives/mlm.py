"""Masked language modelling: S = X with C masked, A = identity, W = X, C = 15 % of positions.

Devlin et al. (2019); Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.1.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from fairseq_xling.data.example import Example, Examples, Objective
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.sources import Row, Side, split
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.masking import choose, corrupt, draw_ids, draw_places, replace


@objectives.register("mlm")
class MaskedLM(Objective):
    """Predict masked tokens of one language from the rest of its text."""

    name = "mlm"
    reads = "mono"

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        tokens, lang = row.source.tokens, row.source.lang
        chosen = self.choose(tokens, rng)
        hidden = self.hide(tokens, chosen, lang, rng)
        side = self.vocabulary.side(row.source)
        return Example(src={**side, "tokens": hidden}, tgt={**side, "predict": chosen})

    def examples_of(self, rows: Sequence[Row], rngs: Iterable[np.random.Generator]) -> Examples:
        return self.masked([[row.source] for row in rows], rngs)

    def masked(
        self, rows: Sequence[Sequence[Side]], rngs: Iterable[np.random.Generator]
    ) -> Examples:
        """Rows of one or several sides: `choose` and then `hide` of each, of all rows at once."""
        cfg, vocabulary = self.cfg, self.vocabulary
        replacements = vocabulary.own if cfg.random_within_language else vocabulary.sizes
        side, lengths = vocabulary.sides([side for row in rows for side in row])
        tokens, ends = side["tokens"], lengths.cumsum()
        candidates = (tokens >= SPECIALS).nonzero()[0]
        counts = np.diff(np.searchsorted(candidates, ends), prepend=0)
        each = iter(split(candidates, counts))
        places, drawn = [], []
        for row, rng in zip(rows, rngs, strict=True):
            mine = [draw_places(next(each), cfg.mask_prob, rng) for _ in row]
            places += mine
            for one, here in zip(row, mine, strict=True):
                ids = replacements[one.lang]
                drawn.append(draw_ids(len(here), ids, cfg.random_token, rng))
        chosen = np.zeros(len(tokens), dtype=bool)
        chosen[np.concatenate(places)] = True
        draw, ids = map(np.concatenate, zip(*drawn, strict=True))
        hidden = replace(tokens, chosen, draw, ids, cfg.leave_unmasked, cfg.random_token)
        lengths = np.diff(ends[np.cumsum([len(row) for row in rows]) - 1], prepend=0)
        src, tgt = {**side, "tokens": hidden}, {**side, "predict": chosen}
        return Examples(lengths, lengths, src, tgt)

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
