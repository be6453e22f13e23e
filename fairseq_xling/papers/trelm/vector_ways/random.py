"""Random vectors instead of trained ones (TreLM, Table 5: a row that maps random ones)."""

import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.data.dictionary import read_dictionary
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.papers.trelm.vector_ways import VectorRequest, vector_ways, vectors_path
from fairseq_xling.runs.step import Step

_SEED = 1


@vector_ways.register("random")
class RandomWay:
    """Drawn, each from N(0, 1/D)."""

    drawn = True
    at_source = False

    @staticmethod
    def step(request: VectorRequest, name: str) -> Step:
        output = vectors_path(request.run, name)
        settings = {"languages": list(request.languages), "dim": request.width, "seed": _SEED}
        return Step(
            name,
            call=functools.partial(write_random_vectors, request.data, output, **settings),
            settings=settings,
            inputs=[request.data],
            outputs=[output],
        )


def write_random_vectors(
    data: str | Path, output: str | Path, languages: Sequence[str], dim: int, seed: int
) -> None:
    """A file of vectors for the subwords of ``languages``, each drawn from N(0, 1/dim)."""
    from fairseq_xling.papers.trelm.skipgram import count_ids  # imports gensim, which is slow

    folder = DataFolder(data)
    size = folder.vocab_sizes[languages[0]]
    counts = count_ids([folder.mono("train", lang) for lang in languages], size)
    drawn = np.random.default_rng(seed).standard_normal((size, dim)) / np.sqrt(dim)
    settings = {"method": "random", "languages": list(languages), "dim": dim, "seed": seed}
    digests = {lang: folder.dictionary_digest(lang) for lang in languages}
    symbols = read_dictionary(folder.dictionary_path(languages[0]))
    write_vectors(output, Vectors(drawn.astype(np.float32), counts, symbols, digests, settings))
