"""Validate a map by the words that both vocabularies spell identically.

A map learnt without supervision may pair all words wrongly and still bring them close, so its own
criterion cannot detect this. Names, numbers and loanwords can: under a correct map many of them
retrieve each other, under a wrong one none do. They are evidence only if the map was not learnt
from them.

Symbols: ``N`` moving words, ``M`` fixed words, ``P`` shared words, ``D`` width.
"""

import dataclasses

import torch
from torch import Tensor

from fairseq_xling.mapping.csls import csls_neighbours
from fairseq_xling.mapping.space import Space

FEWEST = 20  # with fewer shared words nothing is concluded
_EVERY = 5  # of the shared words, one in so many is held out from a map learnt from them
_NEAR = 10  # a word counts as found among so many neighbours
_LEAST = 0.15  # on synthetic German, correct maps find 37 to 56 %, wrong ones up to 11 % (digits)
_DOUBT = 1e-3  # significance level against chance


@dataclasses.dataclass(frozen=True)
class Evidence:
    """The shares of ``words`` shared words whose identical word is the nearest, or among the ten
    nearest, of ``candidates`` words by CSLS; None without words."""

    words: int
    candidates: int
    p_at_1: float | None = None
    p_at_10: float | None = None

    def objection(self) -> str | None:
        """Why the map must be wrong, or None.

        Chance finds a word among ten of M with probability 10 / M, so the number found by chance is
        binomial. The map is rejected if chance reaches its number once in a thousand times, or if
        it finds less than 15 % of the words. Fewer than 20 words, or candidates, prove nothing.

        >>> Evidence(100, 1000, 0.0, 0.04).objection()
        'of 100 identically spelt words only 4.0 % have their counterpart among the 10 nearest'
        >>> Evidence(100, 1000, 0.2, 0.4).objection() is Evidence(19, 1000, 0.0, 0.0).objection()
        True
        """
        if min(self.words, self.candidates) < FEWEST or self.p_at_10 is None:
            return None
        from scipy.stats import binom  # half a second, which most verbs never need

        by_chance = binom.isf(_DOUBT, self.words, min(1.0, _NEAR / self.candidates))
        if self.p_at_10 >= _LEAST and self.p_at_10 * self.words > by_chance:
            return None
        share = f"{100 * self.p_at_10:.1f} %"
        return (
            f"of {self.words} identically spelt words only {share} have their counterpart among "
            "the 10 nearest"
        )


def shared_words(moving: Space, fixed: Space) -> Tensor:
    """Pairs (P, 2) of indices (into ``moving`` and ``fixed``) of the words with identical spelling.

    Empty if the strings of one side are unknown. Most frequent of ``moving`` first.

    >>> space = lambda *symbols: Space(torch.zeros(2, 1), torch.arange(2), symbols)
    >>> shared_words(space("▁die", "▁Berlin"), space("▁Berlin", "▁dog")).tolist()
    [[1, 0]]
    """
    if moving.symbols is None or fixed.symbols is None:
        return torch.empty(0, 2, dtype=torch.int64)
    places = {symbol: place for place, symbol in enumerate(fixed.symbols)}
    pairs = [(row, places[s]) for row, s in enumerate(moving.symbols) if s in places]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)


def split_shared(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """``pairs`` to learn a map from, and every fifth, to evaluate it.

    >>> [part[:, 0].tolist() for part in split_shared(torch.arange(7)[:, None].expand(7, 2))]
    [[0, 1, 2, 3, 5, 6], [4]]
    """
    kept = torch.arange(len(pairs)) % _EVERY == _EVERY - 1
    return pairs[~kept], pairs[kept]


def find_evidence(moving: Tensor, fixed: Tensor, w: Tensor, pairs: Tensor, k: int = 10) -> Evidence:
    """How well the words of ``pairs`` (P, 2) retrieve each other by ``moving @ w``.

    Args:
        moving: (N, D); fixed: (M, D); w: (D, D). Pairs beyond their rows are left out.
        k: neighbourhood of CSLS.
    """
    pairs = pairs.to(w.device)
    pairs = pairs[(pairs[:, 0] < len(moving)) & (pairs[:, 1] < len(fixed))]
    if not len(pairs):
        return Evidence(0, len(fixed))
    nearest = csls_neighbours(moving @ w, fixed, _NEAR, k)[1][pairs[:, 0]]
    hits = nearest == pairs[:, 1:]
    shares = [float(hits[:, :n].any(1).double().mean()) for n in (1, _NEAR)]
    return Evidence(len(pairs), len(fixed), *shares)
