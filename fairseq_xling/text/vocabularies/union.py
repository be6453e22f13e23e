"""Default anchors (Conneau et al. 2020, Section 4.2): each language learns its own pieces, and
identical pieces share one id, so the size is V1 + V2 - overlap."""

from fairseq_xling.text.vocabularies import VocabularyMode, modes


@modes.register("union")
class Union(VocabularyMode):
    pass
