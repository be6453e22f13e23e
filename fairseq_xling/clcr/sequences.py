"""A folder of sequences of vectors, one for each sentence: CLCR's output for other models.

A sentence has one vector for each kept key-point, in the chosen order, possibly none.
`fairseq_xling.clcr.sequences_writer` writes such a folder:

    vectors.npy   (R, D) float16 or float32, the vectors of all sentences one after the other
    offsets.npy   (N + 1,) int64: sentence n has rows [offsets[n], offsets[n + 1])
    spans.npy     (R, 2) int32: row r represents the subwords [spans[r, 0], spans[r, 1]) of its
                  sentence, counted from 0 after <s>; not sorted if sentences are reordered
    lengths.npy   (N,) int32, the subwords of each sentence, without <s> and </s>
    meta.json     {"settings": {"lang", "dtype", ...}, "width", "sentences", "rows", ...}

Symbols: ``N`` sentences, ``R`` rows of all, ``D`` width, ``B`` sentences of a batch, ``K`` vectors
of the longest sequence in it.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.array_file import mapped
from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json
from fairseq_xling.folders import META
from fairseq_xling.json_fields import check_count

_BLOCK = 4096  # rows
_SIZES = ("sentences", "rows", "width")
DTYPES = ("float32", "float16")


class Sequences:
    """A finished folder of sequences, mapped: memory does not grow with it.

    An empty sequence is read as one zero vector, in `batch` as in `vectors`, so that no model has
    to attend to nothing; `counts` identifies those sentences.

    Attributes:
        path: the folder.
        settings: the settings that it was written with.
        lang: the language of the text.
        sentences: N; rows: R; width: D.
        offsets: (N + 1,) int64.

    Raises:
        UserError: if the folder is missing, was not finished, or is damaged.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not self.path.is_dir():
            begun = (self.path.parent / f".{self.path.name}.partial").is_dir()
            raise UserError(
                f"{path}: not finished; run the command that writes it again"
                if begun
                else f"{path}: no such folder; `fairseq-xling clcr encode` writes one"
            )
        file = self.path / META
        meta = read_json(file) if file.is_file() else None
        try:
            self.settings: Mapping[str, Any] = meta["settings"]
            self.lang = str(self.settings["lang"])
            sizes = [check_count(file, meta[name], name) for name in _SIZES]
            self.sentences, self.rows, self.width = sizes
        except UserError:
            raise
        except MALFORMED:
            raise UserError(f"{path}: not a folder of sequences (`clcr encode`)") from None
        if self.sentences < 1:
            raise UserError(f"{path}: contains no sentences")
        self._vectors = self._map("vectors", (self.rows, self.width), "f")
        self.offsets = np.asarray(self._map("offsets", (self.sentences + 1,), "i"))
        steps = np.diff(self.offsets)
        if self.offsets[0] != 0 or self.offsets[-1] != self.rows or (steps < 0).any():
            raise UserError(
                f"{self.path / 'offsets.npy'}: must increase from 0 to {self.rows}, the rows of "
                "vectors.npy"
            )

    def __len__(self) -> int:
        return self.sentences

    @cached_property
    def counts(self) -> np.ndarray:
        """(N,) int64, the number of kept key-points of each sentence."""
        return np.diff(self.offsets)

    @cached_property
    def spans(self) -> np.ndarray:
        """(R, 2) int32, the subwords that each row represents, mapped.

        Raises:
            UserError: if the file is damaged, or a span lies outside of its sentence.
        """
        spans = self._map("spans", (self.rows, 2), "i")
        most = np.repeat(self.lengths, self.counts)
        wrong = (spans[:, 0] < 0) | (spans[:, 1] < spans[:, 0]) | (spans[:, 1] > most)
        if wrong.any():
            row = int(wrong.argmax())
            raise UserError(
                f"{self.path / 'spans.npy'}: must lie in sentences, got {spans[row].tolist()} in "
                f"row {row} for a sentence of {most[row]} subwords"
            )
        return spans

    @cached_property
    def lengths(self) -> np.ndarray:
        """(N,) int32, the subwords of each sentence, mapped; errors as `spans`."""
        return self._map("lengths", (self.sentences,), "i")

    @property
    def array(self) -> np.ndarray:
        """(R, D) as on disk, mapped."""
        return self._vectors

    def vectors(self, index: int) -> Tensor:
        """The sequence of one sentence, (K, D) float32; errors as `batch`."""
        return self.batch([index])[0][0]

    def check_finite(self) -> None:
        """Read all vectors once; errors as `batch`."""
        for start in range(0, self.rows, _BLOCK):
            finite = np.isfinite(self._vectors[start : start + _BLOCK]).all(1)
            if not finite.all():
                raise self._not_finite(start + int((~finite).argmax()))

    def _not_finite(self, row: int) -> UserError:
        file = self.path / "vectors.npy"
        return UserError(f"{file}: must be finite, got NaN or infinity in row {row}")

    def batch(self, indices: Sequence[int] | np.ndarray) -> tuple[Tensor, Tensor]:
        """The sequences of some sentences, in the order of ``indices``.

        Returns:
            vectors (B, K, D) float32, zero where there are none, and padding_mask (B, K) bool, True
            at padding, which follows every sequence. An empty sequence is one zero vector.

        Raises:
            UserError: if a value is NaN or infinite (file and row).
        """
        chosen = np.asarray(indices, dtype=np.int64)
        first, counts = self.offsets[chosen], self.counts[chosen]
        longest = max(1, int(counts.max(initial=0)))
        places = np.arange(longest)
        inside = places < counts[:, None]
        found = np.zeros((len(chosen), longest, self.width), dtype=np.float32)
        rows = (first[:, None] + places)[inside]
        found[inside] = self._vectors[rows]
        finite = np.isfinite(found[inside]).all(1)
        if not finite.all():
            raise self._not_finite(int(rows[~finite][0]))
        padding_mask = places >= np.maximum(counts, 1)[:, None]
        return torch.from_numpy(found), torch.from_numpy(padding_mask)

    def _map(self, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
        return mapped(
            self.path / f"{name}.npy", kind, shape, "the folder is damaged, write it again"
        )


def check_same_sentences(x: Sequences, y: Sequences) -> None:
    """Reject two folders whose sentences do not pair up, or whose vectors differ in width.

    Raises:
        UserError: see above.
    """
    names = f"{x.path} and {y.path}"
    if x.sentences != y.sentences:
        raise UserError(
            f"{names}: must have equally many sentences, got {x.sentences} and {y.sentences}"
        )
    check_same_width(x, y)


def check_same_width(x: Sequences, y: Sequences) -> None:
    """Reject two folders whose vectors differ in width.

    Raises:
        UserError: see above.
    """
    if x.width != y.width:
        raise UserError(
            f"{x.path} and {y.path}: must have vectors of one width, got {x.width} and {y.width}"
        )
