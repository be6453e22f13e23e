"""Methods to train vectors of subwords (`fairseq-xling embed train --method`).

To add a method, add a file.
"""

from dataclasses import dataclass

from fairseq_xling.papers.trelm.skipgram import SkipGram, SkipGramOptions
from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class Embedder:
    """One method: its settings, and the vectors in training."""

    options: type[SkipGramOptions]
    model: type[SkipGram]


embedders: Registry[Embedder] = Registry("`--method`", __name__)
