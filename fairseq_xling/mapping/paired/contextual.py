"""The map of tokens in context, from word alignments.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.2: the target language's states
of a layer are mapped into the source encoder's space, and its upper layers read them
(`fairseq_xling.tasks.mapped`). By default the states are only centred: those layers need lengths,
and with the iterative normalisation of that section, which the option takes too, the lengths that
a state gets back are those of its own encoder (`FittedMap.carry`).
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
