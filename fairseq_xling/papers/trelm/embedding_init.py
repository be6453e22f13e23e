"""Methods to get vectors for the subwords of a migration's vocabulary (`--embeddings`).

A method declares the kind of its vectors, and the step that makes them.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import DataFolder, read_dictionary
from fairseq_xling.mapping.vectors_file import Vectors, count_ids, write_vectors
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.workflow.step import Step

_TRAINED_SEED = _DRAWN_SEED = 1
VECTORS = "vectors/{}.safetensors"  # of a step, in the folder of the run


@dataclass(frozen=True)
class VectorRequest:
    """What the vectors are for.

    Attributes:
        run: folder of the run.
        config: the settings.
        width: of the source encoder.
        data: data folder.
        pair: the source's language and the target.
        languages: those of the dictionary whose text is read.
        source_vectors: file of the source's embeddings, for methods that are ``at_source``.
    """

    run: Path
    config: TrelmConfig
    width: int
    data: Path
    pair: tuple[str, str]
    languages: Sequence[str]
    source_vectors: Path | None = None


class EmbeddingInit(Protocol):
    """One method."""

    # Vectors know nothing: unless they are to be mapped, `init` draws embeddings itself.
    drawn: bool
    at_source: bool  # vectors are in the source's embedding space, and the method reads it

    def step(self, request: VectorRequest, name: str) -> Step:
        """Writes ``run/vectors/NAME.safetensors``."""


embedding_inits: Registry[EmbeddingInit] = Registry("`--embeddings`")


def trained_init(chosen: str) -> str:
    """``chosen`` if it trains vectors on text, as a study's rows that need such vectors do; else
    skip-gram."""
    method = embedding_inits[chosen]
    return "skip-gram" if method.drawn or method.at_source else chosen


@embedding_inits.register("skip-gram")
class SkipGram:
    """Trained on the text (TreLM, Appendix A.5), or given: `fairseq-xling embed train`."""

    drawn = False
    at_source = False
    method: tuple[str, ...] = ()

    @classmethod
    def step(cls, request: VectorRequest, name: str) -> Step:
        config, output = request.config, request.run / VECTORS.format(name)
        how = ["--dim", str(request.width), *cls.method]
        how += ["--epochs", str(config.embed_epochs), "--threads", str(config.embed_threads)]
        if config.vectors:
            how = ["--vec", config.vectors]
        command = [
            *("fairseq-xling", "embed", "train", str(request.data), "--output", str(output)),
            *("--languages", ",".join(request.languages), *how),
            *("--seed", str(_TRAINED_SEED), *config.words("embed_args")),
        ]
        inputs = [request.data, *([Path(config.vectors)] if config.vectors else [])]
        outputs = [output, Path(f"{output}.json")]
        return Step(name, commands=[command], inputs=inputs, outputs=outputs, resumable=True)


@embedding_inits.register("fasttext")
class FastText(SkipGram):
    """The same with character n-grams: `fairseq-xling embed train --method fasttext`."""

    method = ("--method", "fasttext")


@embedding_inits.register("linked")
class Linked:
    """Means of the source's embeddings of aligned words: `fairseq-xling embed link`."""

    drawn = False
    at_source = True

    @staticmethod
    def step(request: VectorRequest, name: str) -> Step:
        output = request.run / VECTORS.format(name)
        command = [
            *("fairseq-xling", "embed", "link", str(request.data), "--output", str(output)),
            *("--pair", "-".join(request.pair), "--language", request.languages[-1]),
            *("--source-vectors", str(request.source_vectors)),
        ]
        inputs = [request.data, request.source_vectors]
        return Step(name, commands=[command], inputs=inputs, outputs=[output])


@embedding_inits.register("random")
class Random:
    """Drawn, each from N(0, 1/D) (TreLM, Table 5: a row that maps random vectors)."""

    drawn = True
    at_source = False

    @staticmethod
    def step(request: VectorRequest, name: str) -> Step:
        output = request.run / VECTORS.format(name)
        settings = {"languages": list(request.languages), "dim": request.width, "seed": _DRAWN_SEED}
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
    folder = DataFolder(data)
    size = folder.vocab_sizes[languages[0]]
    counts = count_ids([folder.mono("train", lang) for lang in languages], size)
    drawn = np.random.default_rng(seed).standard_normal((size, dim)) / np.sqrt(dim)
    settings = {"method": "random", "languages": list(languages), "dim": dim, "seed": seed}
    digests = {lang: folder.dictionary_digest(lang) for lang in languages}
    symbols = read_dictionary(folder.dictionary_path(languages[0]))
    write_vectors(output, Vectors(drawn.astype(np.float32), counts, symbols, digests, settings))
