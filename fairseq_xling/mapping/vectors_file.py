"""Files of word vectors: one row per id of a vocabulary, with how often each id occurs.

The format is safetensors: tensors ``vectors`` (V, D) float32 and ``counts`` (V,) int64, a ``map``
(D, D) float32 if the vectors were mapped, and one metadata entry, JSON text, with the
rest.

Symbols: ``V`` ids of the vocabulary, ``D`` width.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.mmap import TokenFile

_TOKENS = 1 << 20  # tokens counted at a time
_FILE = ArrayFile(
    "fairseq_xling.vectors",
    "a vectors file (as `fairseq-xling embed` writes it)",
    needs=("vectors", "counts"),
)


@dataclasses.dataclass(frozen=True)
class Vectors:
    """Vectors of a vocabulary.

    Attributes:
        vectors: (V, D) float32; row i belongs to id i. All are finite.
        counts: (V,) int64, how often each id occurs in the text of the vocabulary's languages.
            It ranks words by frequency; an id with count 0 (a special symbol, or one that never
            occurs) is not used for learning a map.
        symbols: the V strings by id, where known: ``▁`` marks a piece that begins a word.
        dictionaries: SHA-256 of the dictionary that the ids refer to, by language or model.
        settings: what made the vectors (JSON values).
        map: (D, D) float32, the W of ``vectors = original @ W``, or None.

    Raises:
        ValueError: if shapes or types do not fit, or a value is not finite.
    """

    vectors: np.ndarray
    counts: np.ndarray
    symbols: Sequence[str] | None = None
    dictionaries: dict[str, str] = dataclasses.field(default_factory=dict)
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    map: np.ndarray | None = None

    def __post_init__(self) -> None:
        _check(self.vectors, "vectors", np.float32, 2)
        _check(self.counts, "counts", np.int64, 1)
        size, width = self.vectors.shape
        if size == 0 or width == 0:
            raise ValueError(f"has no vectors (shape {size} x {width})")
        if len(self.counts) != size:
            raise ValueError(f"has {size} vectors but {len(self.counts)} counts")
        if (self.counts < 0).any():
            raise ValueError(f"has a negative count at id {int((self.counts < 0).argmax())}")
        if self.symbols is not None and len(self.symbols) != size:
            raise ValueError(f"has {size} vectors but {len(self.symbols)} symbols")
        if self.map is not None:
            _check(self.map, "map", np.float32, 2)
            if self.map.shape != (width, width):
                shape = " x ".join(map(str, self.map.shape))
                raise ValueError(f"has vectors of width {width} but a map of {shape}")


def write_vectors(path: str | Path, vectors: Vectors) -> None:
    """Write ``vectors`` atomically; equal vectors give equal bytes."""
    tensors = {"vectors": vectors.vectors, "counts": vectors.counts}
    if vectors.map is not None:
        tensors["map"] = vectors.map
    about = {
        "symbols": None if vectors.symbols is None else list(vectors.symbols),
        "dictionaries": vectors.dictionaries,
        "settings": vectors.settings,
    }
    _FILE.write(path, tensors, about)


def read_vectors(path: str | Path) -> Vectors:
    """The vectors in a file that `write_vectors` wrote.

    Raises:
        UserError: if the file is missing or damaged, is of another kind or format, or its vectors
            have the wrong shape or type or are not finite.
    """
    tensors, about = _FILE.read(path)
    with described_well(path):
        described = {name: about[name] for name in ("symbols", "dictionaries", "settings")}
    try:
        return Vectors(tensors["vectors"], tensors["counts"], map=tensors.get("map"), **described)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def _check(array: np.ndarray, name: str, dtype: type, dimensions: int) -> None:
    if array.dtype != dtype or array.ndim != dimensions:
        found = f"{array.dtype} with {array.ndim} dimensions"
        wanted = f"{np.dtype(dtype)} with {dimensions}"
        raise ValueError(f"`{name}` must be {wanted}, got {found}")
    if not np.isfinite(array).all():
        at = int((~np.isfinite(array)).reshape(len(array), -1).any(1).argmax())
        raise ValueError(f"`{name}` contains a value that is not finite, in row {at}")


def count_ids(files: Sequence[TokenFile], size: int) -> np.ndarray:
    """The count of each of ``size`` ids in ``files``, (V,) int64; 0 for special symbols."""
    counts = np.zeros(size, dtype=np.int64)
    for file in files:
        for start in range(0, len(file.tokens), _TOKENS):
            piece = np.asarray(file.tokens[start : start + _TOKENS])
            counts += np.bincount(piece, minlength=size)
    counts[:SPECIALS] = 0
    return counts


def fill_missing(vectors: np.ndarray, known: np.ndarray, seed: int) -> np.ndarray:
    """Draw the rows of ids without a vector from the normal distribution of those with one.

    ``x[i, d] ~ N(m_d, s_d^2)`` with the mean and the standard deviation of column d over the known
    rows; ``seed`` and ``i`` determine the draw for row i.

    Args:
        vectors: (V, D); known: (V,) bool, with at least one True.

    >>> x = fill_missing(np.array([[1, 5], [3, 5], [0, 0]], np.float32), np.array([1, 1, 0]) > 0, 1)
    >>> x[:2].tolist(), float(x[2, 1])
    ([[1.0, 5.0], [3.0, 5.0]], 5.0)
    """
    mean, spread = vectors[known].mean(0), vectors[known].std(0)
    filled = vectors.copy()
    for row in np.flatnonzero(~known):
        drawn = np.random.default_rng((seed, int(row))).standard_normal(vectors.shape[1])
        filled[row] = mean + spread * drawn
    return filled
