"""fastText: skip-gram with character n-grams (Bojanowski et al. 2017), trained by gensim.

TreLM, Appendix A.5. The vector of a subword is the mean of its own row and those of the n-grams of
its spelling in the dictionary, word mark included. A subword that does not occur has the mean of
those of its n-grams that occur in others.

Symbols: ``V`` ids of the vocabulary, ``K`` ids that are trained, ``D`` width.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from gensim.models import FastText
from gensim.models.fasttext import ft_ngram_hashes

from fairseq_xling.analysis.gensim_epoch import LAST_LR
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.errors import UserError
from fairseq_xling.papers.trelm.embedders import Embedder, embedders
from fairseq_xling.papers.trelm.skipgram import SkipGram, SkipGramOptions
from fairseq_xling.ranges import BELOW_ONE, COUNT, Range, numbers


@dataclasses.dataclass(frozen=True)
class FastTextOptions(SkipGramOptions):
    """Settings of the training; ``sample`` and ``lr`` have fastText's own defaults.

    Attributes:
        min_n, max_n: lengths of the shortest and the longest n-gram.
        buckets: hash buckets of n-grams; fastText has 2,000,000.
    """

    sample: float = numbers(1e-4, BELOW_ONE)
    lr: float = numbers(0.05, Range(LAST_LR, 1))
    min_n: int = numbers(3, COUNT)
    max_n: int = numbers(6, COUNT)
    buckets: int = numbers(200_000, COUNT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_n < self.min_n:
            raise UserError(f"`--max-n` must be at least {self.min_n}, got {self.max_n}")


class FastTextSubwords(SkipGram):
    """See `SkipGram`; ``symbols`` are the spellings of all ids."""

    _options: FastTextOptions

    def _spell(self, size: int, symbols: Sequence[str]) -> np.ndarray:
        return np.array(symbols, dtype=object)

    def _untrained(self, settings: dict[str, Any]) -> Any:
        options = self._options
        n_grams = {"min_n": options.min_n, "max_n": options.max_n, "bucket": options.buckets}
        return FastText(**settings, **n_grams)

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """See `SkipGram.table`; also with ids that only have n-grams in common with others."""
        table, known = super().table()
        wv, options = self._model.wv, self._options
        there = np.zeros(options.buckets, dtype=bool)
        there[np.concatenate(wv.buckets_word)] = True
        for number in np.flatnonzero(~known).tolist():
            if number < SPECIALS:
                continue
            spelt = self._names[number]
            found = ft_ngram_hashes(spelt, options.min_n, options.max_n, options.buckets)
            shared = [bucket for bucket in found if there[bucket]]
            if shared:
                table[number], known[number] = wv.vectors_ngrams[shared].mean(0), True
        return table, known

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """See `SkipGram.state`."""
        arrays, random = super().state()
        del arrays["input"]
        wv = self._model.wv
        return {**arrays, "words": wv.vectors_vocab, "ngrams": wv.vectors_ngrams}, random

    def restore(self, arrays: dict[str, np.ndarray], rest: dict[str, Any]) -> None:
        """See `SkipGram.restore`."""
        super().restore({**arrays, "input": self.vectors()}, rest)
        wv = self._model.wv
        wv.vectors_vocab[:], wv.vectors_ngrams[:] = arrays["words"], arrays["ngrams"]
        wv.adjust_vectors()


embedders.register("fasttext")(Embedder(FastTextOptions, FastTextSubwords))
