"""A source's raw embeddings as a file of vectors, for the map onto them (TreLM, Appendix A.1)."""

import hashlib

import numpy as np

from fairseq_xling.interop.sources.model import SourceModel
from fairseq_xling.mapping.vectors_file import Vectors
from fairseq_xling.text.pieces import WORD_MARK


def raw_vectors(source: SourceModel) -> Vectors:
    """The token embeddings of ``source`` with their symbols and counts.

    Special symbols and placeholders have count 0, so no map is learnt from them. If the real counts
    are unknown, the others' are set by rank: vocabularies are more or less sorted by frequency, but
    BERT's begins with its alphabet, including rare scripts. So single characters rank after all
    others.
    """
    words = source.words()
    counts = np.zeros(len(source.symbols), dtype=np.int64)
    if source.counts is not None:
        counts[words] = np.array(source.counts, dtype=np.int64)[words]
    else:
        ranked = sorted(words, key=lambda i: len(source.symbols[i].removeprefix(WORD_MARK)) < 2)
        counts[ranked] = np.arange(len(ranked), 0, -1)
    digest = hashlib.sha256("\n".join(source.symbols).encode()).hexdigest()
    return Vectors(
        source.embeddings.numpy().copy(),
        counts,
        list(source.symbols),
        {source.family: digest},
        {
            "source": source.origin,
            "family": source.family,
            "counts": "of its dictionary" if source.counts is not None else "by rank",
        },
    )
