"""Translation language modelling: MLM over [X ; Y]; a word can be predicted from its translation.

Lample and Conneau (2019), Section 3.3. Languages are marked per token and positions restart
at 0 with Y.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from fairseq_xling.data.example import Example, Examples
from fairseq_xling.data.sources import Row, Side
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.mlm import MaskedLM


@objectives.register("tlm")
class TranslationLM(MaskedLM):
    """Predict masked tokens of both sides of a translated pair from both sides."""

    name = "tlm"
    reads = "parallel"
    mixes_source_languages = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        sides = _sides(row)
        return self.concatenate(sides, [self.choose(side.tokens, rng) for side in sides], rng)

    def examples_of(self, rows: Sequence[Row], rngs: Iterable[np.random.Generator]) -> Examples:
        return self.masked([_sides(row) for row in rows], rngs)

    def concatenate(
        self, sides: Sequence[Side], chosen: Sequence[np.ndarray], rng: np.random.Generator
    ) -> Example:
        """[X ; Y] with the ``chosen`` positions of each side masked and predicted."""
        hidden = [self.hide(s.tokens, c, s.lang, rng) for s, c in zip(sides, chosen, strict=True)]
        each = [self.vocabulary.side(side) for side in sides]
        both = {name: np.concatenate([side[name] for side in each]) for name in each[0]}
        return Example(
            src={**both, "tokens": np.concatenate(hidden)},
            tgt={**both, "predict": np.concatenate(chosen)},
        )

    def max_length(self, length: np.ndarray) -> np.ndarray:
        return 2 * length


def _sides(row: Row) -> list[Side]:
    return [side for side in (row.source, row.target) if side is not None]
