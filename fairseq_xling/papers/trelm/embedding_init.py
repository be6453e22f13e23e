"""Methods to get vectors for the subwords of a migration's vocabulary (`--embeddings`).

A method declares the kind of its vectors, and the command that makes them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.registry import Registry
from fairseq_xling.mapping.vectors_file import write_vectors
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.vectors import TrainingText
from fairseq_xling.workflow import call

_SEED = 1
VECTORS = "vectors/{name}.safetensors"  # of a step, in the folder of the run


class EmbeddingInit:
    """One method."""

    # Vectors know nothing: unless they are to be mapped, `init` draws embeddings itself.
    drawn = False
    at_source = False  # vectors are in the source's embedding space, and the method reads it
    resumable = False  # the command notes what it has done in a JSON beside the vectors

    @classmethod
    def command(
        cls,
        config: TrelmConfig,
        data: Path,
        pair: tuple[str, str],
        languages: Sequence[str],
        width: int,
        fixed: Path | None,
    ) -> list[Any]:
        """The words that write the vectors to ``{out}``.

        Args:
            pair: the source's language and the target.
            languages: those of the dictionary whose text is read.
            width: of the source encoder.
            fixed: file of the source's embeddings, for methods that are ``at_source``.
        """
        raise NotImplementedError(cls.__name__)


embedding_inits: Registry[type[EmbeddingInit]] = Registry("`--embeddings`")


def trained_init(chosen: str) -> str:
    """``chosen`` if it trains vectors on text, as a study's rows that need such vectors do; else
    skip-gram."""
    method = embedding_inits[chosen]
    return "skip-gram" if method.drawn or method.at_source else chosen


@embedding_inits.register("skip-gram")
class SkipGram(EmbeddingInit):
    """Trained on the text (TreLM, Appendix A.5), or given: `fairseq-xling embed train`."""

    resumable = True
    method: tuple[str, ...] = ()

    @classmethod
    def command(cls, config, data, pair, languages, width, fixed) -> list[Any]:
        how = ["--dim", width, *cls.method]
        how += ["--epochs", config.embed_epochs, "--threads", config.embed_threads]
        return [
            *("fairseq-xling", "embed", "train", data, "--output", "{out}"),
            *("--languages", ",".join(languages)),
            *(["--vec", config.vectors] if config.vectors else how),
            *("--seed", _SEED, *config.words("embed_args")),
        ]


@embedding_inits.register("fasttext")
class FastText(SkipGram):
    """The same with character n-grams: `fairseq-xling embed train --method fasttext`."""

    method = ("--method", "fasttext")


@embedding_inits.register("linked")
class Linked(EmbeddingInit):
    """Means of the source's embeddings of aligned words: `fairseq-xling embed link`."""

    at_source = True

    @classmethod
    def command(cls, config, data, pair, languages, width, fixed) -> list[Any]:
        return [
            *("fairseq-xling", "embed", "link", data, "--output", "{out}"),
            *("--pair", "-".join(pair), "--language", languages[-1], "--source-vectors", fixed),
        ]


@embedding_inits.register("random")
class Random(EmbeddingInit):
    """Drawn, each from N(0, 1/D) (TreLM, Table 5: a row that maps random vectors)."""

    drawn = True

    @classmethod
    def command(cls, config, data, pair, languages, width, fixed) -> list[Any]:
        values = {"data": data, "output": "{out}", "languages": languages, "dim": width}
        return call.command(write_random_vectors, {**values, "seed": _SEED})


def write_random_vectors(
    data: str | Path, output: str | Path, languages: Sequence[str], dim: int, seed: int
) -> None:
    """A file of vectors for the subwords of ``languages``, each drawn from N(0, 1/dim)."""
    text = TrainingText(data, languages)
    shape = len(text.counts), dim
    drawn = np.random.default_rng(seed).standard_normal(shape) / np.sqrt(dim)
    settings = {"method": "random", "languages": list(languages), "dim": dim, "seed": seed}
    write_vectors(output, text.vectors(drawn.astype(np.float32), settings))
