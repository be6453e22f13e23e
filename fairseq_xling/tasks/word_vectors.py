"""Word vectors of one language: read from a file, frozen, looked up by word; and joint spaces.

In a `JointSpace` the first language's vectors move and the second's stay: e'_s = e_s W, e'_t = e_t.
V words, D width.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.mapping.normalize import normalize, parse_steps
from fairseq_xling.mapping.text_vectors import WORD_MARK, read_first_words
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors


@dataclass(frozen=True)
class WordVectors:
    """``words``, most frequent first, their ``vectors`` (V, D) float32 and ``counts`` (V,) int64.

    The counts of a text file, which has none, are ranks: V for the first word, 1 for the last.
    """

    words: Sequence[str]
    vectors: np.ndarray
    counts: np.ndarray

    @property
    def width(self) -> int:
        """D."""
        return self.vectors.shape[1]


def read_word_vectors(path: str | Path, most: int) -> WordVectors:
    """The vectors of the ``most`` frequent words of a file of `fairseq-xling embed`, or ``.vec``.

    Subwords inside a word, and words that never occur, are left out.
    """
    path = Path(path)
    if path.suffix == ".safetensors":  # of `fairseq-xling embed` and `map`
        found = read_vectors(path)
        if found.symbols is None:
            raise UserError(f"{path}: its vectors have no words; make it from a data folder")
        marked = np.array([symbol.startswith(WORD_MARK) for symbol in found.symbols], dtype=bool)
        order = np.argsort(-found.counts, kind="stable")
        order = order[(marked & (found.counts > 0))[order]][:most]
        words = [found.symbols[i].removeprefix(WORD_MARK) for i in order]
        vectors, counts = found.vectors[order], found.counts[order]
    else:
        words, vectors = read_first_words(path, most)
        counts = np.arange(len(words), 0, -1)
    if not words:
        raise UserError(f"{path}: has no vectors of words (symbols that begin with {WORD_MARK!r})")
    check_bound("ids", len(words), path)
    return WordVectors(words, vectors, counts)


def check_widths(read: Mapping[str, WordVectors], files: Mapping[str, Path]) -> int:
    """The width of all vectors."""
    widths = {lang: vectors.width for lang, vectors in read.items()}
    if len(set(widths.values())) > 1:
        found = ", ".join(f"{width} ({files[lang]})" for lang, width in widths.items())
        raise UserError(f"`--vectors` must have equal width, got {found}")
    return next(iter(widths.values()))


def read_matrix(path: str | Path, width: int) -> np.ndarray:
    """W (D, D) of a file that `fairseq-xling map` wrote."""
    w = read_vectors(path).map
    if w is None:
        raise UserError(
            f"`--map` {path}: contains no map; `fairseq-xling map adversarial` makes it"
        )
    if len(w) != width:
        raise UserError(f"`--map` {path}: must be {width} wide like the vectors, got {len(w)}")
    return w


def make_table(
    vectors: WordVectors, w: np.ndarray | None = None, steps: str = "none"
) -> np.ndarray:
    """The frozen table (V + 1, D) float32: row 0 is zero, for unknown words, then those of words.

    Args:
        w: (D, D), or None for the identity.
        steps: normalisation before the map.
    """
    own = normalize(torch.from_numpy(vectors.vectors), steps).double()
    if w is not None:
        own = own @ torch.from_numpy(w).double()
    return np.concatenate([np.zeros((1, vectors.width), np.float32), own.float().numpy()])


class Lexicon:
    """The row of each word in a table: as it is spelt, or else in small letters, or else 0.

    >>> Lexicon(["the", "House"]).rows(["The", "House", "house"])
    [1, 2, 0]
    """

    def __init__(self, words: Iterable[str]):
        self._rows: dict[str, int] = {}
        for row, word in enumerate(words, start=1):
            self._rows.setdefault(word, row)

    def rows(self, words: Iterable[str]) -> list[int]:
        """The rows of several words."""
        find = self._rows.get
        return [find(word) or find(word.lower(), 0) for word in words]


@dataclass(frozen=True)
class JointSpace:
    """``words`` by language, their ``tables`` (V + 1, D) in that order, W (D, D) and D."""

    words: Mapping[str, Sequence[str]]
    tables: Sequence[Tensor]
    w: Tensor
    width: int


def joint_space(
    files: Mapping[str, Path], map: str, steps: str, most: int, work: Path, seed: int
) -> JointSpace:
    """The frozen words of one or two languages.

    Args:
        files: of vectors by language; the first language moves.
        map: none, adversarial, or a file that contains W.
        steps: normalisation of both before the map.
        most: frequent words of each language.
        work: folder for what an adversarial map leaves; one that is finished is not made again.
        seed: the first of the three that an adversarial map tries.
    """
    parse_steps(steps)
    read = {lang: read_word_vectors(path, most) for lang, path in files.items()}
    width = check_widths(read, files)
    matrix = None
    if map == "adversarial":
        matrix = _learn(read, work, seed)
    elif map != "none":
        matrix = read_matrix(map, width)
    tables = [
        torch.from_numpy(make_table(vectors, None if number else matrix, steps))
        for number, vectors in enumerate(read.values())
    ]
    w = torch.eye(width) if matrix is None else torch.from_numpy(matrix)
    return JointSpace({lang: v.words for lang, v in read.items()}, tables, w, width)


def _learn(read: Mapping[str, WordVectors], work: Path, seed: int) -> np.ndarray:
    """W by `fairseq-xling map adversarial` with its defaults; what it makes stays in ``work``."""
    from fairseq_xling.mapping.job import MapOptions, map_vectors
    from fairseq_xling.mapping.methods import METHODS

    output = work / "mapped.safetensors"
    if not output.is_file():
        work.mkdir(parents=True, exist_ok=True)
        moving, fixed = (work / f"{side}.safetensors" for side in ("moving", "fixed"))
        for path, vectors in zip((moving, fixed), read.values(), strict=True):
            write_vectors(path, Vectors(vectors.vectors, vectors.counts, list(vectors.words)))
        options = MapOptions(str(fixed), str(moving), str(output), (seed, seed + 1, seed + 2))
        map_vectors("adversarial", options, METHODS["adversarial"].options())
    width = next(iter(read.values())).width
    try:
        return read_matrix(output, width)
    except UserError as error:
        raise UserError(f"{error}; delete {work} if it is of other vectors") from None
