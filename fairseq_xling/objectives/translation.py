"""Translation without word alignments, for a model that finds the order itself.

Of (S, A, W, C) only S = X in full and W = Y are given. The model's emission, such as `ctc`, sums
over the ways in which its slots can write Y, so that no alignment A has to be prepared, and
translations that a teacher has written will do.
"""

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.example import Example, Objective
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
        if row.target is None:
            raise UserError(f"objective {self.name!r} needs parallel text")
        target = row.target.tokens
        return Example(
            src=self.vocabulary.side(row.source),
            tgt={
                **self.vocabulary.side(row.target),
                "predict": np.ones(len(target), dtype=bool),
            },
            order=np.full(len(target), -1, dtype=np.int64),
            extra={"reordered": np.ones(1, dtype=np.int64)},
        )
