"""A vector per subword, special symbols excluded, in the order of the text.

In addition to the vectors, ``ids.npy`` has the subwords' ids in the data folder's dictionary, and
``sentences.npy`` the number of subwords of each line, which are stored line by line.
Subwords cut at the model's positions, and those that the vocabulary cannot spell, have no rows; so
that word alignments find their rows, ``places.npy`` has each subword's position in its line and
``words.npy`` that of its word, from 0, and ``lengths.npy`` the total number of subwords and words
of each line. Words are those of the segmented text, separated by spaces.

With ``--concat-vectors``, a row is the subword's state followed by the static vector of its word
(RositaWORD: TreLM, Table 9).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairseq_xling.analysis.growing import GrowingArrays
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import option
from fairseq_xling.text.segment import OtherWords
from fairseq_xling.verbs.units import Work, units

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.tasks.head_input import TokenVectors


@dataclasses.dataclass(frozen=True)
class Options:
    concat_vectors: str | None = option(
        None,
        "append the static vector of each subword's word, of a file of word vectors",
        metavar=FILE,
    )


@units.register("tokens")
class Tokens:
    """See the module's docstring."""

    options = Options

    def __init__(self, work: Work, options: Options):
        self._work, self._vectors, self._others = work, None, OtherWords(work.text)
        if options.concat_vectors:
            from fairseq_xling.tasks.head_input import TokenVectors

            self._vectors = TokenVectors.read(work.encode, options.concat_vectors)
        self._width = work.width + (self._vectors.width if self._vectors else 0)
        row = ((self._width,), work.dtype)
        self._arrays = GrowingArrays(
            work.folder,
            {
                **{work.array(layer).stem: row for layer in work.layers},
                "ids": ((), np.dtype("int32")),
                "sentences": ((), np.dtype("int32")),
                "places": ((), np.dtype("int32")),
                "words": ((), np.dtype("int32")),
                "lengths": ((2,), np.dtype("int32")),
            },
        )

    @property
    def done(self) -> int:
        return self._arrays.done

    def block(self, lines: Sequence[str], sentences: Sequence[np.ndarray]) -> _Block:
        self._others.see(lines)
        return _Block(self._work, self._arrays, lines, sentences, self._vectors)

    def finish(self) -> dict[str, Any]:
        rows = self._arrays.rows["ids"]
        if not rows:
            raise UserError(f"{self._work.text}: has no subword that the vocabulary contains")
        self._arrays.finish()
        self._others.end()
        return {
            "rows": rows,
            "width": self._width,
            "row": "a subword; ids.npy its number, sentences.npy subwords of each line, places.npy "
            "and words.npy its place and its word's in the line",
        }


class _Block:
    def __init__(
        self,
        work: Work,
        arrays: GrowingArrays,
        lines: Sequence[str],
        sentences: Sequence[np.ndarray],
        static: TokenVectors | None,
    ):
        self._work, self._arrays, self._lines, self._sentences = work, arrays, lines, sentences
        self._static = static
        empty = np.zeros((len(work.layers), 0, work.width), dtype=np.float32)
        self._vectors = [empty] * len(sentences)
        self._places = [np.zeros(0, dtype=np.int64)] * len(sentences)

    def add(self, indices: np.ndarray, states: Tensor, words: Tensor) -> None:
        for row, index in enumerate(indices):
            inside = words[row]
            self._vectors[index] = states[:, row, inside].cpu().numpy()
            self._places[index] = inside.nonzero()[:, 0].cpu().numpy() - 1  # after <s>

    def close(self) -> None:
        vectors = np.concatenate(self._vectors, axis=1)
        if self._static:
            words = self._kept([self._static.rows(ids) for ids in self._sentences])
            own = np.broadcast_to(
                self._static.table[words], (*vectors.shape[:2], self._static.width)
            )
            vectors = np.concatenate([vectors, own], axis=2)
        names = (self._work.array(layer).stem for layer in self._work.layers)
        blocks = dict(zip(names, vectors, strict=True))
        numbers, counts = self._word_numbers()
        blocks["ids"] = self._kept(self._sentences)
        blocks["words"] = self._kept(numbers)
        blocks["places"] = np.concatenate(self._places)
        blocks["sentences"] = np.array([len(places) for places in self._places])
        sizes = [len(line) for line in numbers]
        blocks["lengths"] = np.stack([sizes, counts], axis=1)
        self._arrays.append(blocks, self._arrays.done + len(self._sentences))

    def _word_numbers(self) -> tuple[list[np.ndarray], np.ndarray]:
        """For each subword of a line the number of its word, and the number of words of each."""
        encode = self._work.encode
        sizes = np.array([len(ids) for ids in self._sentences])
        texts = encode.segment(self._lines)
        words = encode.words(texts, np.concatenate(self._sentences), sizes)
        numbers = np.arange(len(words.lengths)) - words.offsets[words.row]
        return np.split(np.repeat(numbers, words.lengths), np.cumsum(sizes - 1)[:-1]), words.sizes

    def _kept(self, lines: Sequence[np.ndarray]) -> np.ndarray:
        """From values for all subwords, line by line, those of the subwords that have rows."""
        return np.concatenate([line[p] for line, p in zip(lines, self._places, strict=True)])
