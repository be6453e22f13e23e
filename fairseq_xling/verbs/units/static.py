"""Rows of the embedding matrix for words that are a single subword: no context at all.

Conneau et al. 2020, "Emerging Cross-lingual Structure", Section 5.1.1. These are raw rows: neither
positions, segments nor languages are added, and nothing is normalised. Row n of ``layer00.npy`` is
line n of ``words.txt``; ``counts.npy`` has the occurrences in the text. Words are those of a file,
or the most frequent ones of the text; those of several subwords are left out.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.verbs.units import Block, Work, units
from fairseq_xling.verbs.units.types import Options, count_words, words_of_file


@units.register("static")
class Static:
    """See the module's docstring."""

    options = Options  # those of types
    last_layer: ClassVar[int] = 0

    def __init__(self, work: Work, options: Options):
        from fairseq_xling.analysis.lexicon import spell

        self._work = work
        self._counts, self.done = count_words(work.text, work.encode)
        wanted = [word for word, _ in self._counts.most_common()]
        if options.words:
            wanted = words_of_file(options.words)
        spelling = spell(wanted, work.encode)
        single = {word: ids[0] for word, ids in spelling.items() if len(ids) == 1}
        single = {word: number for word, number in single.items() if number >= SPECIALS}
        if not single:
            raise UserError(f"{options.words or work.text}: none of its words is a single subword")
        self._left_out = len(wanted) - len(single)
        self._ids = single if options.words else dict(list(single.items())[: options.most])

    def block(self, lines: Sequence[str], sentences: Sequence[np.ndarray]) -> Block:
        raise NotImplementedError("all lines are done before the first block")

    def finish(self) -> dict[str, Any]:
        table = self._work.embeddings().cpu().numpy()
        rows = table[list(self._ids.values())].astype(self._work.dtype)
        np.save(self._work.array(0), rows)
        counts = np.array([self._counts[word] for word in self._ids], dtype=np.int64)
        np.save(self._work.folder / "counts.npy", counts)
        with atomic_write(self._work.folder / "words.txt", "w") as file:
            file.writelines(f"{word}\n" for word in self._ids)
        return {
            "rows": len(rows),
            "row": "line n of words.txt; counts.npy its occurrences",
            "left out, as they are no single subword": self._left_out,
        }
