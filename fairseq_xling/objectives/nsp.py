"""Masked language modelling over two segments, with next sentence prediction.

Devlin et al. (2019), Section 3.1; TreLM's third phase for BERT (Section 3.2). The head named
``nsp`` learns the label; masked words are predicted as in MLM.
"""

import numpy as np

from fairseq_xling.data.example import Example
from fairseq_xling.data.sources import NEXT, NOT_NEXT, Row, Side
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.mlm import MaskedLM


@objectives.register("nsp")
class NextSentence(MaskedLM):
    """``<s> A </s> B </s>``, segments 0 and 1, half of the time with B following A."""

    name = "nsp"
    reads = "segments"
    asks = "nsp"
    segments = 2

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        tokens = np.concatenate([row.source.tokens, row.target.tokens])
        example = super().__call__(Row(Side(tokens, row.source.lang)), rng)
        segments = np.repeat([0, 1], [len(row.source.tokens), len(row.target.tokens)])
        example.src["segments"] = segments
        example.extra["next"] = np.array([NEXT if row.follows else NOT_NEXT])
        return example
