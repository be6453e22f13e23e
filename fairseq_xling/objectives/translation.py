"""Translation without word alignments, for a model that finds the order itself.

Of (S, A, W, C) only S = X in full and W = Y are given. The model's emission, such as `ctc`, sums
over the ways in which its slots can write Y, so that no alignment A has to be prepared, and
translations that a teacher has written will do.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.example import Example, Examples, Objective, ones
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives


@objectives.register("translation")
class Translation(Objective):
    """Write the target sentence from the source sentence, in an order that nobody gives."""

    name = "translation"
    reads = "parallel"
    reorders = True
    emits = True

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        return Translation.examples_of(self, [row], [rng]).each()[0]

    def examples_of(self, rows: Sequence[Row], rngs: Iterable[np.random.Generator]) -> Examples:
        if any(row.target is None for row in rows):
            raise UserError(f"objective {self.name!r} needs parallel text")
        examples = self.vocabulary.translations(rows)
        examples.order = np.full(examples.sizes.sum(), -1)
        examples.extra = {"reordered": ones(np.ones_like(examples.sizes))}
        return examples
