"""The map of tokens in context, from word alignments.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2: the target language's states
of a layer are mapped into the source encoder's space, and its upper layers read them
(`fairseq_xling.tasks.mapped`). The states are only centred: normalisation to unit length could
not be undone for those layers.
"""

from __future__ import annotations

from fairseq_xling.mapping.paired import PAIRED
from fairseq_xling.mapping.paired.procrustes import Procrustes


@PAIRED.register("contextual")
class Contextual(Procrustes):
    """Procrustes on aligned tokens."""

    help = "the orthogonal map of tokens in context, which another encoder's layers can read"
    normalize = "centre"
    any_pairs = False
