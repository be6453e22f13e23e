"""A vector per subword, special symbols excluded, in the order of the text.

Beside the vectors, ``ids.npy`` has the subwords' numbers in the data folder's dictionary, and
``sentences.npy`` how many of them each line has: those of line n follow those of the lines before.
What is cut at the model's positions has no rows.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.analysis.units import Work, units


@units.register("tokens")
class Tokens:
    """See the module's docstring."""

    def __init__(self, work: Work, args: argparse.Namespace):
        self._work = work
        row = ((work.width,), work.dtype)
        self._arrays = GrowingArrays(
            work.folder,
            {
                **{work.array(layer).stem: row for layer in work.layers},
                "ids": ((), np.dtype("int32")),
                "sentences": ((), np.dtype("int32")),
            },
        )

    @staticmethod
    def add_arguments(parser: Any) -> None:
        """None of its own."""

    @property
    def done(self) -> int:
        return self._arrays.done

    def block(self, sentences: Sequence[np.ndarray]) -> "_Block":
        return _Block(self._work, self._arrays, sentences)

    def finish(self) -> dict[str, Any]:
        rows = self._arrays.rows["ids"]
        self._arrays.finish()
        return {
            "rows": rows,
            "row": "a subword; ids.npy its number, sentences.npy subwords of each line",
        }


class _Block:
    def __init__(self, work: Work, arrays: GrowingArrays, sentences: Sequence[np.ndarray]):
        self._work, self._arrays, self._sentences = work, arrays, sentences
        empty = np.zeros((len(work.layers), 0, work.width), dtype=np.float32)
        self._vectors = [empty] * len(sentences)
        self._ids = [np.zeros(0, dtype=np.int64)] * len(sentences)

    def add(self, indices: np.ndarray, states: Tensor, words: Tensor) -> None:
        for row, index in enumerate(indices):
            inside = words[row]
            self._vectors[index] = states[:, row, inside].cpu().numpy()
            places = inside.nonzero()[:, 0].cpu().numpy() - 1  # behind <s>
            self._ids[index] = self._sentences[index][places]

    def close(self) -> None:
        vectors = np.concatenate(self._vectors, axis=1)
        names = (self._work.array(layer).stem for layer in self._work.layers)
        blocks = dict(zip(names, vectors, strict=True))
        blocks["ids"] = np.concatenate(self._ids)
        blocks["sentences"] = np.array([len(ids) for ids in self._ids])
        self._arrays.append(blocks, self._arrays.done + len(self._sentences))
