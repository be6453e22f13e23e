"""Aligned words: nothing is predicted; their states are pulled together (TreLM, Table 9).

Cao et al. (2020), "Multilingual Alignment of Contextual Word Representations", Section 3. The loss
is that of `fairseq_xling.training.word_alignment`.
"""

import numpy as np

from fairseq_xling.data.example import Example, Objective, require_alignment
from fairseq_xling.data.sources import Row
from fairseq_xling.objectives import objectives


@objectives.register("word-alignment")
class WordAlignment(Objective):
    """Both sentences unchanged, and which source token each target token is aligned with."""

    name = "word-alignment"
    reads = "parallel"
    needs_order = True
    criterion = "word_alignment"

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        require_alignment(row, self.name)
        return Example(
            src=self.vocabulary.side(row.source),
            tgt={
                **self.vocabulary.side(row.target),
                "predict": np.zeros(len(row.target.tokens), dtype=bool),
            },
            order=row.order,
        )
