"""Translation pairs, in folders of words; a word may have several translations.

The columns are read in the order that matches more entries with the folders: a dictionary
``en-de.tsv`` can be used for maps from English to German and back.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.dictionary import read_dictionary
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import NoOptions
from fairseq_xling.core.texts import canonical
from fairseq_xling.mapping.pairs import PAIRS, pair_key
from fairseq_xling.mapping.states import BLOCK, Selection, States


@PAIRS.register("dictionary")
class Dictionary:
    """See the module's docstring.

    Raises:
        UserError: for folders without words, a file that is empty or damaged, or of which no entry
            is known.
    """

    reads = True
    options = NoOptions

    def __init__(self, moving: States, fixed: States, file: Path | None, options: NoOptions):
        entries = read_dictionary(file)
        rows: list[dict[str, int]] = [{}, {}]
        for places, each in zip(rows, (moving, fixed), strict=True):
            for n, word in enumerate(each.words):
                places.setdefault(canonical(word), n)  # of two forms, the more frequent
        forward = _known(entries, rows)
        backward = _known([(b, a) for a, b in entries], rows)
        self._pairs = max(forward, backward, key=len)
        if not len(self._pairs):
            raise UserError(
                f"{file}: none of its {len(entries):,} entries has one word in {moving.path} and "
                f"the other in {fixed.path}"
            )
        self.count = len(self._pairs)
        self.keys = [pair_key(moving.words[m], fixed.words[f]) for m, f in self._pairs]
        self.facts = {
            "entries": len(entries),
            "with an unknown word": len(entries) - self.count,
            "first column": (moving if self._pairs is forward else fixed).path.name,
        }

    def __iter__(self) -> Iterator[tuple[Selection, Selection]]:
        for start in range(0, self.count, BLOCK):
            block = self._pairs[start : start + BLOCK]
            yield Selection(block[:, 0]), Selection(block[:, 1])


def _known(entries: list[tuple[str, str]], rows: list[dict[str, int]]) -> np.ndarray:
    """The rows (P, 2) int64 of the entries whose words both have one."""
    forms = ((canonical(a), canonical(b)) for a, b in entries)
    found = [(rows[0][a], rows[1][b]) for a, b in forms if a in rows[0] and b in rows[1]]
    return np.array(found, dtype=np.int64).reshape(-1, 2)
