"""An n-gram language model of the target language, whose score a search adds to its own.

The words of a translation that is written in one pass do not see each other; a model of the
language prefers those that follow each other in text (for CTC: Graves and Jaitly, 2014; Hannun et
al., 2014; for translation Gu and Kong, 2021). Probabilities back off: where the model has no n-gram
of a word and the words before it, it is that of the shorter one, times the weight of what was left
out.

The n-grams of an order are sorted by the number of their beginning, an n-gram of the order before,
and their last word, so that all words of all prefixes are looked up at once.

R rows, B prefixes of a row, C words, N the largest order.
"""

import itertools
from pathlib import Path

import torch
from torch import Tensor

from fairseq_xling.data.arpa import BEGIN, END, UNKNOWN, Arpa, Grams, read_arpa
from fairseq_xling.data.folder import SPECIALS, DataFolder, read_dictionary
from fairseq_xling.errors import UserError, about

_NONE = -1
_FEWEST = 0.5  # share of the model's words that the vocabulary has to have


class Ngram:
    """Log-probabilities in nats of words after other words, by their numbers in a dictionary.

    Words that the model does not know have the probability of its ``<unk>``, or of its rarest word
    where it has none; then nothing is known of what follows them, either.

    Args:
        arpa: the model.
        words: the dictionary: its word of each number, ``""`` for special symbols.
        path: of the model, for messages.

    Raises:
        UserError: if an n-gram's beginning is missing, or if fewer than half of the model's words
            are in the dictionary.
    """

    def __init__(self, arpa: Arpa, words: list[str], path: str | Path = "the n-gram model"):
        number = {word: n for n, word in enumerate(arpa.words)}
        for name in (BEGIN, END):
            if name not in number:
                raise UserError(f"{path}: must have the 1-gram {name}")
        own = {word: n for word, n in number.items() if word not in (BEGIN, END, *UNKNOWN)}
        known = len(own.keys() & set(words))
        if known < max(1, _FEWEST * len(own)):
            raise UserError(
                f"{path}: must be a model of text in pieces of this vocabulary, which has only "
                f"{known:,} of its {len(own):,} words"
            )
        orders = list(itertools.takewhile(lambda grams: len(grams.words), arpa.orders))
        self.order = len(orders)
        self.begin, self.end = number[BEGIN], number[END]
        unknown = next((number[name] for name in UNKNOWN if name in number), _NONE)
        self._numbers = torch.tensor([own.get(word, unknown) for word in words])
        self._size = len(arpa.words)
        self._keys: list[Tensor] = []
        self._log_probs: list[Tensor] = []
        self._backoffs: list[Tensor] = []
        for grams in orders:
            self._add(grams, path)
        # In the last place, where `_NONE` looks: of a word that the model has nothing for.
        rarest = self._log_probs[0][list(own.values())].min(0, keepdim=True).values
        self._log_probs[0] = torch.cat([self._log_probs[0], rarest])

    def _add(self, grams: Grams, path: str | Path) -> None:
        """The n-grams of the next order."""
        words = torch.from_numpy(grams.words)
        if self._keys:
            begin = self._prefix(words[:, :-1])
            _refuse(begin == _NONE, grams, path, "must begin with an n-gram of the model")
            keys, place = (begin * self._size + words[:, -1]).sort()
            twice = torch.zeros_like(keys, dtype=torch.bool)
            twice[place[1:]] = keys[1:] == keys[:-1]
            _refuse(twice, grams, path, "is there twice")
        else:
            keys, place = words[:, 0].sort()
        self._keys.append(keys)
        self._log_probs.append(torch.from_numpy(grams.log_probs)[place])
        self._backoffs.append(torch.from_numpy(grams.backoffs)[place])

    @classmethod
    def load(cls, path: str | Path, folder: DataFolder, language: str) -> "Ngram":
        """The model in an ARPA file, of text in the pieces of ``folder``.

        Raises:
            UserError: naming `--ngram`, see `read_arpa`.
        """
        words = read_dictionary(folder.dictionary_path(language))
        words[:SPECIALS] = [""] * SPECIALS
        with about("`--ngram`"):
            return cls(read_arpa(path), words, path)

    def to(self, device: torch.device) -> "Ngram":
        """Move it."""
        if self._numbers.device != device:
            self._numbers = self._numbers.to(device)
            for parts in (self._keys, self._log_probs, self._backoffs):
                parts[:] = [part.to(device) for part in parts]
        return self

    def start(self, rows: int, beam: int) -> Tensor:
        """(R, B, N - 1) words before the first, as numbers of the model: ``<s>``, and nothing."""
        before = self._numbers.new_full((rows, beam, max(1, self.order - 1)), _NONE)
        before[..., -1] = self.begin
        return before

    def extended(self, before: Tensor, words: Tensor) -> Tensor:
        """What is before the next word, once each prefix has another of the ``words`` (R, B)."""
        return torch.cat([before[..., 1:], self._numbers[words][..., None]], -1)

    def score(self, before: Tensor, words: Tensor) -> Tensor:
        """(R, B, C) log-probabilities of words (R, C) after each prefix (R, B, N - 1)."""
        return self._score(before, self._numbers[words][:, None])

    def stop(self, before: Tensor) -> Tensor:
        """(R, B) log-probabilities that the text ends after each prefix."""
        end = before.new_full((len(before), 1, 1), self.end)
        return self._score(before, end)[..., 0]

    def _score(self, before: Tensor, words: Tensor) -> Tensor:
        """Of words (R, 1, C), by the longest n-gram that there is; shorter ones go first."""
        found = self._log_probs[0][words].expand(-1, before.shape[1], -1)
        for order in range(1, self.order):
            own = self._prefix(before[..., -order:])[..., None]
            place, there = self._find(order, own, words)
            left_out = self._backoffs[order - 1][own.clamp(min=0)].masked_fill(own < 0, 0.0)
            found = torch.where(there, self._log_probs[order][place], left_out + found)
        return found

    def _prefix(self, words: Tensor) -> Tensor:
        """The number among the n-grams of its order of each of ``words`` (..., n), -1 for none."""
        own = words[..., 0]
        for order in range(1, words.shape[-1]):
            place, there = self._find(order, own, words[..., order])
            own = torch.where(there, place, _NONE)
        return own

    def _find(self, order: int, begin: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        """Where the n-gram of ``order`` + 1 words is that begins with the number ``begin``, and
        whether it is there."""
        keys = self._keys[order]
        wanted = begin * self._size + word
        place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return place, (keys[place] == wanted) & (begin >= 0) & (word >= 0)


def _refuse(wrong: Tensor, grams: Grams, path: str | Path, what: str) -> None:
    """The first n-gram that is ``wrong``, if one is."""
    if bool(wrong.any()):
        raise UserError(
            f"{path}:{grams.lines[wrong.numpy()].min()}: the n-gram of this line {what}"
        )
