"""Write a folder of sequences (`fairseq_xling.clcr.sequences`): streamed, resumable after a kill.

    if not is_written(output, settings):
        with write_sequences(output, settings, width) as writer:
            for block in blocks(text, writer.done):
                writer.append(vectors, counts, spans, lengths)
            writer.finish({"provenance": provenance(files)})
    sequences = Sequences(output)

The folder gets its name at the end of the block, whose last call is `SequencesWriter.finish`. Until
then blocks are in ``.NAME.partial`` in the same parent folder; a call with the same settings
resumes after the sentences that are there, and the arrays are byte for byte the same as without the
interruption.

Symbols as in `sequences`; ``B`` sentences and ``R`` rows of a block.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.clcr.sequences import DTYPES
from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.folders import META, is_finished, new_folder


def is_written(output: str | Path, settings: Mapping[str, Any]) -> bool:
    """Whether ``output`` is a finished folder of these settings; False if there is nothing.

    Raises:
        UserError: if it contains anything else.
    """
    return is_finished(Path(output), _plain(settings))


@contextlib.contextmanager
def write_sequences(
    output: str | Path, settings: Mapping[str, Any], width: int
) -> Iterator["SequencesWriter"]:
    """A writer of the folder ``output``, which does not exist yet (`is_written`).

    Args:
        settings: what determines the result, including checksums of inputs, as JSON values:
        ``lang``,
            ``dtype`` (of `DTYPES`) and others. Unfinished work of other settings is discarded.
        width: D.

    Raises:
        UserError: if another process is writing it.
    """
    if settings["dtype"] not in DTYPES or not settings["lang"]:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)} and lang a code: {settings}")
    identity = {"settings": _plain(settings), "width": width}
    with new_folder(Path(output), identity, "clcr encode") as folder:
        writer = SequencesWriter(folder, identity["settings"], width)
        yield writer
        if not writer.finished:
            raise ValueError(f"{output}: `finish` was not called")


class SequencesWriter:
    """Takes sequences block by block; see `write_sequences`."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], width: int):
        self._folder, self._settings, self._width = folder, settings, width
        self._arrays = GrowingArrays(
            folder,
            {
                "vectors": ((width,), np.dtype(settings["dtype"])),
                "offsets": ((), np.dtype("int64")),
                "spans": ((2,), np.dtype("int32")),
                "lengths": ((), np.dtype("int32")),
            },
        )
        if not self._arrays.rows["offsets"]:
            self._arrays.append({"offsets": np.zeros(1)}, 0)
        self.finished = False

    @property
    def done(self) -> int:
        """Number of sentences on disk; work resumes with the sentence of this number, from 0."""
        return self._arrays.done

    def append(
        self, vectors: np.ndarray, counts: np.ndarray, spans: np.ndarray, lengths: np.ndarray
    ) -> None:
        """Add sentences; they are on disk when this returns.

        Args:
            vectors: (R, D), those of a sentence in their order, sentence after sentence.
            counts: (B,) whole numbers, the number of vectors of each sentence, possibly 0.
            spans: (R, 2) whole numbers, the subwords [first, end) of its sentence that a row
                represents.
            lengths: (B,) whole numbers, the subwords of each sentence.

        Raises:
            UserError: for vectors that are NaN, or too large for the type on disk.
            ValueError: if these are inconsistent.
        """
        counts, spans, lengths = (np.asarray(x, np.int64) for x in (counts, spans, lengths))
        rows = int(counts.sum())
        spans = spans.reshape(-1, 2)
        if vectors.shape != (rows, self._width) or len(spans) != rows:
            raise ValueError(
                f"counts give {rows} rows of width {self._width}, got vectors {vectors.shape} and "
                f"{len(spans)} spans"
            )
        if counts.shape != lengths.shape or (counts < 0).any():
            raise ValueError("counts must be 0 or more, one for each of lengths")
        first, end = spans.T
        if not ((first >= 0) & (first < end) & (end <= np.repeat(lengths, counts))).all():
            raise ValueError("a span must lie in its sentence, first before end")
        vectors = self._stored(vectors)
        before = self._arrays.rows["vectors"]
        self._arrays.append(
            {
                "vectors": vectors,
                "offsets": before + np.cumsum(counts),
                "spans": spans,
                "lengths": lengths,
            },
            self._arrays.done + len(counts),
        )

    def _stored(self, vectors: np.ndarray) -> np.ndarray:
        """The vectors in the type on disk."""
        dtype = np.dtype(self._settings["dtype"])
        with np.errstate(over="ignore"):
            stored = vectors.astype(dtype)
        if not np.isfinite(stored).all():
            most = np.abs(vectors).max()
            if not np.isfinite(most):
                raise UserError(
                    "the model's vectors are NaN or infinite; did its training diverge?"
                )
            raise UserError(
                f"`--dtype` {dtype} must represent every vector, up to "
                f"{np.finfo(dtype).max:,.0f}, got "
                f"{most:g}; use float32"
            )
        return stored

    def finish(self, more: Mapping[str, Any]) -> None:
        """Finish the folder; ``more`` goes into ``meta.json``, for example the provenance."""
        meta = {"sentences": self.done, "rows": self._arrays.rows["vectors"], "width": self._width}
        self._arrays.finish()
        write_json(self._folder / META, {**more, "settings": self._settings, **meta})
        self.finished = True


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """As read back from a file: tuples are lists."""
    return json.loads(json.dumps(settings))
