"""A vector per sentence: the mean over its subwords, special symbols excluded.

Conneau et al. 2020, "Emerging Cross-lingual Structure", Section 5.1.3. Row n is line n of the text;
that of a blank line is zero. ``<unk>`` is a special symbol unless `--count-unknown` is given. Lines
with the same subwords have the same number in ``lines.npy``.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.core.options import option
from fairseq_xling.verbs.units import Work, units

if TYPE_CHECKING:
    from torch import Tensor

LINES = "lines"


@dataclasses.dataclass(frozen=True)
class Options:
    count_unknown: bool = option(
        False, "count <unk> as a subword of a sentence (default: it is left out of the mean)"
    )


@units.register("sentences")
class Sentences:
    """See the module's docstring."""

    options = Options

    def __init__(self, work: Work, options: Options):
        self._work = work
        self.unknown: bool = options.count_unknown
        row = ((work.width,), work.dtype)
        rows = {work.array(layer).stem: row for layer in work.layers}
        self._arrays = GrowingArrays(work.folder, {**rows, LINES: ((), np.dtype(np.int64))})

    @property
    def done(self) -> int:
        return self._arrays.done

    def block(self, lines: Sequence[str], sentences: Sequence[np.ndarray]) -> _Block:
        return _Block(self._work, self._arrays, sentences)

    def finish(self) -> dict[str, Any]:
        self._arrays.finish()
        return {"rows": self.done, "row": "line n of the text; zero where it is blank"}


def _number(ids: np.ndarray) -> int:
    return int.from_bytes(
        hashlib.blake2b(ids.tobytes(), digest_size=8).digest(), "big", signed=True
    )


class _Block:
    def __init__(self, work: Work, arrays: GrowingArrays, sentences: Sequence[np.ndarray]):
        self._work, self._arrays = work, arrays
        self._lines = np.array([_number(ids) for ids in sentences], dtype=np.int64)
        size = len(sentences), work.width
        self._vectors = np.zeros((len(work.layers), *size), dtype=np.float32)

    def add(self, indices: np.ndarray, states: Tensor, words: Tensor) -> None:
        from fairseq_xling.analysis.retrieval import sentence_vectors

        self._vectors[:, indices] = sentence_vectors(states, words).cpu().numpy()

    def close(self) -> None:
        names = (self._work.array(layer).stem for layer in self._work.layers)
        blocks = dict(zip(names, self._vectors, strict=True))
        blocks[LINES] = self._lines
        self._arrays.append(blocks, self._arrays.done + self._vectors.shape[1])
