"""Random vectors in the place of trained ones (TreLM, Table 5: a row that maps random ones)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.text.dictionary import read_dictionary


def write_random_vectors(
    data: str | Path, output: str | Path, languages: Sequence[str], dim: int, seed: int
) -> None:
    """A file of vectors for the subwords of ``languages``, each drawn from N(0, 1/dim)."""
    from fairseq_xling.trelm.skipgram import count_ids  # brings gensim, which takes its time

    folder = DataFolder(data)
    size = folder.vocab_sizes[languages[0]]
    counts = count_ids([folder.mono("train", lang) for lang in languages], size)
    drawn = np.random.default_rng(seed).standard_normal((size, dim)) / np.sqrt(dim)
    settings = {"method": "random", "languages": list(languages), "dim": dim, "seed": seed}
    digests = {lang: folder.dictionary_digest(lang) for lang in languages}
    symbols = read_dictionary(folder.dictionary_path(languages[0]))
    write_vectors(output, Vectors(drawn.astype(np.float32), counts, symbols, digests, settings))
