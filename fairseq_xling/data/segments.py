"""Two segments of one language's text, for next sentence prediction (Devlin et al., 2019).

Every sentence but the last begins two rows: one with the sentence that follows it, one with another
sentence drawn from the whole text. So exactly half of the rows are true continuations. Each pass
over the text draws new ones: row ``i + p len(source)`` is row i of pass p.
"""

import numpy as np

from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.permutation import permute
from fairseq_xling.data.sources import Row, Side, count_longer
from fairseq_xling.errors import UserError

NOT_NEXT, NEXT = 1, 2  # a row's label; 0 is a row that has none
_SEED = 1


class SegmentPairs:
    """Row 2 k holds sentences k and k + 1; row 2 k + 1 holds k and one that does not follow it.

    ``renews``: rows after the last are those of further passes (see `data.plan`).
    """

    renews = True

    def __init__(self, file: TokenFile, lang: str, max_positions: int):
        if len(file) < 3:
            raise UserError(
                f"{file.prefix}: next sentence prediction needs at least 3 sentences, got "
                f"{len(file)}"
            )
        self.file, self.max_positions = file, max_positions
        self.name, self.languages = lang, (lang,)
        # How much of each segment fits: apart from <s>, the first gets the odd position.
        self._most = (-(-(max_positions - 1) // 2), (max_positions - 1) // 2)

    def __len__(self) -> int:
        return 2 * (len(self.file) - 1)

    @property
    def num_sentences(self) -> int:
        return len(self.file)

    @property
    def num_tokens(self) -> int:
        return 4 * len(self.file.tokens) + len(self)

    def lengths(self, indices: np.ndarray) -> np.ndarray:
        first, second = self._firsts(indices), self._seconds(indices)
        sizes = self.file.sizes
        return (
            1 + np.minimum(sizes[first], self._most[0]) + np.minimum(sizes[second], self._most[1])
        )

    def num_truncated(self) -> int:
        """How many sentences are longer than the room for a second segment."""
        return count_longer(self.file, self._most[1] + 1)

    def __getitem__(self, index: int) -> Row:
        lang = self.languages[0]
        second = int(self._seconds(np.array([index]))[0])
        row = index % len(self)
        first = np.concatenate(([CLS], _cut(self.file[row // 2], self._most[0])))
        follows = index % 2 == 0
        return Row(
            Side(first, lang), Side(_cut(self.file[second], self._most[1]), lang), follows=follows
        )

    def _firsts(self, indices: np.ndarray) -> np.ndarray:
        return indices % len(self) // 2

    def _seconds(self, indices: np.ndarray) -> np.ndarray:
        first, passes, count = self._firsts(indices), indices // len(self), len(self.file)
        drawn = np.empty_like(first)
        for one in np.unique(passes):
            here = passes == one
            drawn[here] = permute(first[here], count, _SEED, 0, int(one))
        own = (drawn == first) | (drawn == first + 1)
        drawn = np.where(own, (first + 2) % count, drawn)
        return np.where(indices % 2 == 0, first + 1, drawn)


def _cut(tokens: np.ndarray, most: int) -> np.ndarray:
    tokens = tokens.astype(np.int64)
    return tokens if len(tokens) <= most else np.append(tokens[: most - 1], SEP)
