"""A folder of sequences of vectors, one for each sentence: CLCR's output for other models.

A sentence has one vector for each kept key-point, in the chosen order, possibly none.
A folder of them:

    vectors.npy   (R, D) float16 or float32, the vectors of all sentences one after the other
    offsets.npy   (N + 1,) int64: sentence n has rows [offsets[n], offsets[n + 1])
    spans.npy     (R, 2) int32: row r represents the subwords [spans[r, 0], spans[r, 1]) of its
                  sentence, counted from 0 after <s>; not sorted if sentences are reordered
    lengths.npy   (N,) int32, the subwords of each sentence, without <s> and </s>
    meta.json     {"settings": {"lang", "dtype", ...}, "width", "sentences", "rows", ...}

Symbols: ``N`` sentences, ``R`` rows of all, ``D`` width, ``B`` sentences of a batch, ``K`` vectors
of the longest sequence in it.

It is written in a stream (`write_sequences`): blocks are in ``.NAME.partial`` until all are there,
and after a kill the same call resumes, with the same bytes in the end.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.core.arguments import check_count
from fairseq_xling.core.array_file import mapped
from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.core.folders import META, new_folder

_BLOCK = 4096  # rows


class Sequences:
    """A finished folder of sequences, mapped: memory does not grow with it.

    An empty sequence is read as one zero vector, in `batch` as in `vectors`, so that no model has
    to attend to nothing; `counts` identifies those sentences.

    Attributes:
        path: the folder.
        settings: the settings that it was written with.
        lang: the language of the text.
        sentences: N; rows: R; width: D.
        array: (R, D) as on disk, mapped; offsets: (N + 1,) int64.
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
            sizes = [check_count(file, meta[x], x) for x in ("sentences", "rows", "width")]
            self.sentences, self.rows, self.width = sizes
        except UserError:
            raise
        except MALFORMED:
            raise UserError(f"{path}: not a folder of sequences (`clcr encode`)") from None
        if self.sentences < 1:
            raise UserError(f"{path}: contains no sentences")
        self.array = self._map("vectors", (self.rows, self.width), "f")
        self.offsets = np.asarray(self._map("offsets", (self.sentences + 1,), "i"))
        steps = np.diff(self.offsets)
        if self.offsets[0] != 0 or self.offsets[-1] != self.rows or (steps < 0).any():
            raise UserError(
                f"{self.path / 'offsets.npy'}: must increase from 0 to {self.rows}, the rows of "
                "vectors.npy"
            )

    @cached_property
    def counts(self) -> np.ndarray:
        """(N,) int64, the number of kept key-points of each sentence."""
        return np.diff(self.offsets)

    @cached_property
    def spans(self) -> np.ndarray:
        """(R, 2) int32, the subwords that each row represents, mapped."""
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

    def vectors(self, index: int) -> Tensor:
        """The sequence of one sentence, (K, D) float32; errors as `batch`."""
        return self.batch([index])[0][0]

    def check_finite(self) -> None:
        """Read all vectors once; errors as `batch`."""
        for start in range(0, self.rows, _BLOCK):
            self._read(np.arange(start, min(start + _BLOCK, self.rows)))

    def _read(self, rows: np.ndarray) -> np.ndarray:
        found = self.array[rows]
        wrong = ~np.isfinite(found).all(1)
        if wrong.any():
            raise UserError(
                f"{self.path / 'vectors.npy'}: must be finite, got NaN or infinity in row "
                f"{rows[wrong][0]}"
            )
        return found

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
        found[inside] = self._read((first[:, None] + places)[inside])
        padding_mask = places >= np.maximum(counts, 1)[:, None]
        return torch.from_numpy(found), torch.from_numpy(padding_mask)

    def _map(self, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
        return mapped(
            self.path / f"{name}.npy", kind, shape, "the folder is damaged, write it again"
        )


def sequences_of(folder: Path, lang: str, text: Path) -> Sequences:
    """The folder of the sequences of the file ``text``, which is in ``lang``."""
    found = Sequences(folder)
    if found.lang != lang:
        raise UserError(f"{found.path}: must be in {lang} as `{text}` is, got {found.lang}")
    return found


def check_same_sentences(x: Sequences, y: Sequences) -> None:
    """Reject two folders whose sentences do not pair up, or whose vectors differ in width."""
    if x.sentences != y.sentences:
        raise UserError(
            f"{x.path} and {y.path}: must have equally many sentences, got {x.sentences} and "
            f"{y.sentences}"
        )
    check_same_width(x, y)


def check_same_width(x: Sequences, y: Sequences) -> None:
    """Reject two folders whose vectors differ in width."""
    if x.width != y.width:
        raise UserError(
            f"{x.path} and {y.path}: must have vectors of one width, got {x.width} and {y.width}"
        )


@contextlib.contextmanager
def write_sequences(
    output: Path, settings: Mapping[str, Any], width: int, more: Mapping[str, Any]
) -> Iterator["SequencesWriter"]:
    """A writer of the folder ``output``, which gets its name when the block succeeds.

    Args:
        output: a folder that does not exist yet (`is_finished`).
        settings: what determines the result, including checksums of inputs, as JSON values:
            ``lang``, ``dtype`` and others. Unfinished work of other settings is discarded.
        width: D.
        more: what else goes into ``meta.json``, for example the provenance.
    """
    with new_folder(output, {"settings": settings, "width": width}, "clcr encode") as folder:
        writer = SequencesWriter(folder, settings["dtype"], width)
        yield writer
        sizes = {"sentences": writer.done, "rows": writer.arrays.rows["vectors"], "width": width}
        writer.arrays.finish()
        write_json(folder / META, {**more, "settings": settings, **sizes})


class SequencesWriter:
    """Takes sequences block by block; see `write_sequences`."""

    def __init__(self, folder: Path, dtype: str, width: int):
        self._dtype = np.dtype(dtype)
        shapes = {
            "vectors": ((width,), self._dtype),
            "offsets": ((), np.dtype("int64")),
            "spans": ((2,), np.dtype("int32")),
            "lengths": ((), np.dtype("int32")),
        }
        self.arrays = GrowingArrays(folder, shapes)
        if not self.arrays.rows["offsets"]:
            self.arrays.append({"offsets": np.zeros(1)}, 0)

    @property
    def done(self) -> int:
        """Number of sentences on disk; work resumes with the sentence of this number, from 0."""
        return self.arrays.done

    def append(
        self, vectors: np.ndarray, counts: np.ndarray, spans: np.ndarray, lengths: np.ndarray
    ) -> None:
        """Add B sentences; they are on disk when this returns.

        Args:
            vectors: (R, D), those of a sentence in their order, sentence after sentence.
            counts: (B,) whole numbers, the number of vectors of each sentence, possibly 0.
            spans: (R, 2) whole numbers, the subwords [first, end) of its sentence that a row
                represents.
            lengths: (B,) whole numbers, the subwords of each sentence.

        Raises:
            UserError: for vectors that are NaN, or too large for the type on disk.
        """
        with np.errstate(over="ignore"):
            stored = vectors.astype(self._dtype)
        if not np.isfinite(stored).all():
            most = np.abs(vectors).max()
            if not np.isfinite(most):
                raise UserError(
                    "the model's vectors are NaN or infinite; did its training diverge?"
                )
            raise UserError(
                f"`--dtype` {self._dtype} must represent every vector, up to "
                f"{np.finfo(self._dtype).max:,.0f}, got {most:g}; use float32"
            )
        offsets = self.arrays.rows["vectors"] + np.cumsum(counts, dtype=np.int64)
        blocks = {"vectors": stored, "offsets": offsets}
        blocks |= {"spans": np.asarray(spans), "lengths": np.asarray(lengths)}
        self.arrays.append(blocks, self.done + len(counts))
