"""Sentences as ids: rows of word vectors, and the letters of each different word once.

B sentences, N words, T different words among them, C letters.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from fairseq_xling.data.batch import pad_rows
from fairseq_xling.errors import UserError
from fairseq_xling.models.tagging.part import FIRST, PAD, UNKNOWN, Part
from fairseq_xling.sentences import read_sentences
from fairseq_xling.tasks.heads import IGNORE
from fairseq_xling.tasks.word_vectors import Lexicon

LONGEST = 40  # letters of a word that are read


class Spelling:
    """Letters as numbers; each different word is spelt once."""

    def __init__(self, letters: Iterable[str]):
        self._letters = {letter: number for number, letter in enumerate(letters, start=FIRST)}
        self._numbers: dict[str, int] = {}
        self._forms: list[np.ndarray] = []

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The number of each word among those seen so far."""
        return [self._number(word) for word in words]

    def _number(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self._forms)
            letters = [self._letters.get(letter, UNKNOWN) for letter in word[:LONGEST]]
            self._forms.append(np.array(letters, dtype=np.int64))
        return number

    def forms(self, numbers: np.ndarray) -> torch.Tensor:
        """The letters (T, C) of words by number."""
        return pad_rows([self._forms[number] for number in numbers], PAD)


class WordCodec:
    """The words of one language as ids; with `Spelling`, all that a sentence is read as."""

    vectors = None  # those of words are the model's own

    def __init__(self, lang: str, words: Iterable[str], spelling: Spelling):
        self.lang, self.spelling, self._lexicon = lang, spelling, Lexicon(words)

    def encode(self, words: Sequence[str]) -> np.ndarray:
        """(2, N) int32: rows of the table, and numbers of the spelling."""
        return np.array([self._lexicon.rows(words), self.spelling.numbers(words)], dtype=np.int32)

    def report(self) -> None:
        """Nothing is cut, so there is nothing to report of a file's items."""


def make_part(
    lang: int,
    spelling: Spelling,
    sentences: Sequence[np.ndarray],
    tags: Sequence[np.ndarray] | None = None,
) -> Part:
    """The part of a batch, of `WordCodec.encode`'s arrays and tags (N,) each."""
    used, inverse = np.unique(np.concatenate([s[1] for s in sentences]), return_inverse=True)
    lengths = [s.shape[1] for s in sentences]
    part = {
        "lang": lang,
        "words": pad_rows([s[0] for s in sentences], 0).long(),
        "lengths": torch.tensor(lengths),
        "forms": spelling.forms(used),
        "form": pad_rows(np.split(inverse, np.cumsum(lengths)[:-1]), 0).long(),
    }
    if tags is not None:
        part["tag"] = pad_rows(tags, IGNORE).long()
    return part


def read_text(path: str | Path) -> Iterable[list[str]]:
    """The words of each line that is not empty.

    Raises:
        UserError: if there are none.
    """
    empty = True
    for line in read_sentences(path):
        if words := line.split():
            empty = False
            yield words
    if empty:
        raise UserError(f"{path}: contains no sentences")


class Text:
    """Unlabelled sentences of one language, 8 bytes a word."""

    def __init__(self, lang: int, codec: WordCodec, path: str | Path):
        self._lang, self._spelling = lang, codec.spelling
        pieces, lengths = [], []
        for words in read_text(path):
            pieces.append(codec.encode(words))
            lengths.append(len(words))
        self._ids = np.concatenate(pieces, axis=1)
        self._ends = np.cumsum(lengths)
        self.sizes = np.array(lengths, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.sizes)

    def part(self, indices: Sequence[int]) -> Part:
        """These sentences."""
        chosen = [self._ids[:, self._ends[i] - self.sizes[i] : self._ends[i]] for i in indices]
        return make_part(self._lang, self._spelling, chosen)
