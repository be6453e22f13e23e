"""Methods to get vectors for the subwords of a migration's vocabulary (`--embeddings`).

A method is one file here: it declares the kind of its vectors, and the step that makes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.registry import Registry
from fairseq_xling.runs.step import Step


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


class VectorWay(Protocol):
    """One way."""

    drawn: (
        bool  # vectors know nothing: unless they are to be mapped, `init` draws embeddings itself
    )
    at_source: bool  # vectors are in the source's embedding space, and the method reads it

    def step(self, request: VectorRequest, name: str) -> Step:
        """Writes ``run/vectors/NAME.safetensors``."""


vector_ways: Registry[VectorWay] = Registry("`--embeddings`", __name__)


def trained_way(chosen: str) -> str:
    """``chosen`` if it trains vectors on text, as a study's rows that need such vectors do; else
    skip-gram."""
    way = vector_ways[chosen]
    return "skip-gram" if way.drawn or way.at_source else chosen


def vectors_path(run: Path, name: str) -> Path:
    """The path of a step's vectors."""
    return run / "vectors" / f"{name}.safetensors"
