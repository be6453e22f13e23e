"""From texts and words to the rows of ids that an encoder reads.

n ids of a row, W words.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairseq_xling.data.folder import CLS, SEP, UNK
from fairseq_xling.errors import UserError
from fairseq_xling.tasks.items import Item
from fairseq_xling.text.encoder import TextEncoder

if TYPE_CHECKING:
    from fairseq_xling.tasks.head_input import HeadInput  # imports torch

logger = logging.getLogger(__name__)

TOO_LONG = ("truncate", "refuse")  # what `Codec` accepts, and the options' help on it
TOO_LONG_HELP = (
    "items too long for the encoder: truncate (texts, candidates and questions "
    "are cut; tagged and parsed sentences, and the contexts of questions, are read in pieces), or "
    "refuse"
)
# What happens to an item that does not fit into one row.
CUT, PIECES = "cut", "read in pieces"
_VERBS = {CUT: "cuts it", PIECES: "reads it in pieces"}


@dataclass(frozen=True)
class Encoded:
    """An item as model input.

    Attributes:
        rows: framed ids, each (n,); most heads have one row for an item.
        segments: of each row, (n,): 0, and 1 in the second of two texts.
        fields: the head's own arrays.
    """

    rows: list[np.ndarray]
    segments: list[np.ndarray]
    fields: dict[str, np.ndarray] = field(default_factory=dict)


class Codec:
    """Encodes the texts of one language for a model with ``max_positions`` positions.

    Args:
        too_long: what happens to items that do not fit into one row: with ``truncate`` a head cuts
            them or reads them in pieces, and they are counted; ``refuse`` fails at the first.
        given: what heads read in addition to states.

    Attributes:
        vectors: of the words of its tokens, if heads read them.
    """

    def __init__(
        self,
        data: str | Path,
        lang: str,
        max_positions: int,
        too_long: str = "truncate",
        given: "HeadInput | None" = None,
    ):
        self.lang, self.max_positions, self.too_long = lang, max_positions, too_long
        self._encoder = TextEncoder.load(data, lang)
        self.vectors = given.of(self._encoder) if given else None
        self._words: dict[str, np.ndarray] = {}
        self._long: dict[tuple[str, str], list[str]] = {}

    def text(self, text: str) -> np.ndarray:
        """Ids of ``text`` (n,), without special symbols at its ends."""
        return self._encoder.encode([text])[0][:-1]

    def words(self, words: Sequence[str]) -> list[np.ndarray]:
        """Ids of each word (n,), at least one: a word that normalisation deletes is unknown."""
        new = [word for word in dict.fromkeys(words) if word not in self._words]
        for word, ids in zip(new, self._encoder.encode(new) if new else [], strict=True):
            self._words[word] = ids[:-1] if len(ids) > 1 else np.array([UNK])
        return [self._words[word] for word in words]

    def surfaces(self, words: Sequence[str]) -> list[list[str]]:
        """The text of each id of `words` in its word, possibly empty."""
        found = self._encoder.surfaces(words)
        return [surfaces or [word] for word, surfaces in zip(words, found, strict=True)]

    def segment(self, text: str) -> list[str]:
        """``text`` as the words of the data folder's segmentation."""
        return self._encoder.segment([text])[0].split()

    def frame(self, item: Item, *texts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``<s> a </s>`` or ``<s> a </s> b </s>``: ids and segments, both (n,).

        If it is too long, ids are cut from the end of the longer text.

        Raises:
            UserError: if it is too long, with ``refuse``.
        """
        lengths = [len(text) for text in texts]
        room = self.max_positions - 1 - len(texts)
        if sum(lengths) > room:
            self.note_long(item, sum(lengths) + 1 + len(texts))
            while sum(lengths) > room:
                longest = int(np.argmax(lengths))
                others = sum(lengths) - lengths[longest]
                second = max([0, *lengths[:longest], *lengths[longest + 1 :]])
                lengths[longest] = max(room - others, min(second, lengths[longest] - 1))
        ids, segments = [np.array([CLS])], [np.zeros(1, dtype=np.int64)]
        for number, (text, length) in enumerate(zip(texts, lengths, strict=True)):
            ids += [text[:length], np.array([SEP])]
            segments.append(np.full(length + 1, number, dtype=np.int64))
        return np.concatenate(ids), np.concatenate(segments)

    def note_long(self, item: Item, length: int, how: str = CUT, limit: str = "") -> None:
        """Count an item that does not fit, or reject it.

        Args:
            length: its tokens.
            how: what happens to it, `CUT` or `PIECES`.
            limit: the limit that it exceeds, if not the model's positions.

        Raises:
            UserError: with ``refuse``; names file and line.
        """
        limit = limit or f"the model's {self.max_positions} positions"
        if self.too_long == "refuse":
            raise UserError(
                f"{item.place}: {length} tokens, more than {limit} (`--too-long truncate` "
                f"{_VERBS[how]})"
            )
        self._long.setdefault((how, limit), []).append(item.place)

    def report(self) -> None:
        """Warn once about everything that was too long since the last report."""
        for (how, limit), places in self._long.items():
            logger.warning(
                "%d items are longer than %s and were %s; the first is %s",
                len(places),
                limit,
                how,
                places[0],
            )
        self._long = {}
