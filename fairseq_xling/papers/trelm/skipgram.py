"""Vectors of subword ids in training, by gensim, with or without character n-grams.

Skip-gram with negative sampling (Mikolov et al. 2013); and fastText (Bojanowski et al. 2017), where
the vector of a subword is the mean of its own row and those of the n-grams of its spelling in the
dictionary, word mark included. A subword that does not occur has the mean of those of its n-grams
that occur in others.

TreLM, appendix A.5, trains the vectors of the new vocabulary on monolingual text that is already
split into subwords. Text is streamed from the token files of a data folder.

Symbols: ``V`` ids of the vocabulary, ``K`` ids that are trained, ``D`` width.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gensim.models import FastText, Word2Vec
from gensim.models.fasttext import ft_ngram_hashes

from fairseq_xling.analysis.gensim_epoch import LAST_LR, text_seed, train_epoch
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import (
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    SEEDS,
    Range,
    check_fields,
    numbers,
)
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.sampling import permute

_PIECE = 1 << 16  # sentences numbered at a time
_LONGEST = 10_000  # gensim silently cuts longer sentences, so they are passed in pieces


@dataclasses.dataclass(frozen=True)
class SkipGramOptions:
    """Settings of the training, as the options of `fairseq-xling embed train`.

    Each centre draws its own window, from 1 to ``window``. The learning rate falls linearly to
    1e-4. More than one thread is faster, but not reproducible. The seed is that of the initial
    vectors, which also depend on the counts of the text (`text_seed`), of the order of the
    sentences, of windows and of drawn words.
    """

    dim: int = numbers(768, COUNT)
    epochs: int = numbers(10, COUNT)
    window: int = numbers(5, COUNT)
    negative: int = numbers(10, COUNT)
    min_count: int = numbers(0, NOT_NEGATIVE)
    sample: float = numbers(1e-3, BELOW_ONE)
    lr: float = numbers(0.025, Range(LAST_LR, 1))
    threads: int = numbers(1, COUNT)
    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        check_fields(type(self), self)


def mixed_sentences(files: Sequence[TokenFile], *key: int) -> Iterator[np.ndarray]:
    """Every sentence of all ``files`` once, without special symbols, in an order drawn by ``key``.

    The order is a permutation of all sentences (`permute`), so languages are mixed in proportion
    to their sizes, and no list of sentences is needed. A sentence of over 10,000 ids comes in
    pieces; an empty one is left out.
    """
    ends = np.cumsum([len(file) for file in files])
    total = int(ends[-1])
    for start in range(0, total, _PIECE):
        places = permute(np.arange(start, min(start + _PIECE, total)), total, *key)
        owners = np.searchsorted(ends, places, side="right")
        for place, owner in zip(places.tolist(), owners.tolist(), strict=True):
            file = files[owner]
            ids = file[place - int(ends[owner]) + len(file)]
            ids = ids[ids >= SPECIALS]
            for first in range(0, len(ids), _LONGEST):
                yield ids[first : first + _LONGEST]


class SkipGram:
    """The vectors in training: one epoch at a time, so that the state can be saved in between.

    With one thread the result depends only on the text and the options: gensim's hash function is
    never used, the initial vectors and all draws come from the seed and the counts.

    Args:
        files: training text.
        counts: (V,), `count_ids` of it.
        symbols: the V spellings, for methods that read them.
    """

    def __init__(
        self,
        files: Sequence[TokenFile],
        counts: np.ndarray,
        options: SkipGramOptions,
        symbols: Sequence[str] = (),
    ):
        self._files, self._options = files, options
        frequent = np.flatnonzero(counts >= max(options.min_count, 1))
        if not len(frequent):
            raise UserError(
                f"no subword occurs at least {max(options.min_count, 1)} times (`--min-count`), "
                f"the most frequent one {int(counts.max())} times"
            )
        # Most frequent first, as gensim would sort them; ties by id, which it leaves open.
        self.ids = frequent[np.argsort(-counts[frequent], kind="stable")]
        self._words = int(counts.sum())
        self._names = self._spell(len(counts), symbols)
        self._model = self._untrained(
            **{"sg": 1, "hs": 0, "min_count": 1, "sorted_vocab": 0, "hashfxn": _no_hash},
            **{"vector_size": options.dim, "window": options.window, "workers": options.threads},
            **{"negative": options.negative, "sample": options.sample},
            **{"alpha": options.lr, "min_alpha": LAST_LR},
            seed=text_seed(options.seed, counts.tolist()),
        )
        known = zip(self._names[self.ids].tolist(), counts[self.ids].tolist(), strict=True)
        self._model.build_vocab_from_freq(dict(known))

    def _spell(self, size: int, symbols: Sequence[str]) -> np.ndarray:
        """(V,) the words that stand for the ids, all different."""
        return np.array([str(i) for i in range(size)], dtype=object)

    def _untrained(self, **settings: Any) -> Any:
        """The gensim model with these settings."""
        return Word2Vec(**settings)

    def train_epoch(self, epoch: int, progress: Callable[[int], object]) -> None:
        """Epoch number ``epoch``, from 0; ``progress`` is called with the ids of each sentence."""

        def sentences() -> Iterator[list[str]]:
            for ids in mixed_sentences(self._files, self._options.seed, epoch):
                progress(len(ids))
                yield self._names[ids].tolist()

        train_epoch(
            self._model, epoch, sentences(), self._words, self._options.lr, self._options.epochs
        )

    def vectors(self) -> np.ndarray:
        """(K, D) float32, rows in the order of ``ids``."""
        return self._model.wv.vectors

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """The vectors by id, (V, D) float32, and which ids have one, (V,) bool."""
        known = np.zeros(len(self._names), dtype=bool)
        known[self.ids] = True
        table = np.zeros((len(known), self._options.dim), dtype=np.float32)
        table[self.ids] = self.vectors()
        return table, known

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Everything needed to resume training: arrays, and a JSON value."""
        _, keys, *rest = self._model.random.get_state()
        arrays = {"input": self.vectors(), "output": self._model.syn1neg, "random": keys}
        return arrays, {"random": rest}

    def restore(self, arrays: dict[str, np.ndarray], rest: dict[str, Any]) -> None:
        """Resume from a `state`."""
        self._model.wv.vectors[:] = arrays["input"]
        self._model.syn1neg[:] = arrays["output"]
        self._model.random.set_state(("MT19937", arrays["random"], *rest["random"]))


def _no_hash(text: str) -> int:
    raise AssertionError(f"gensim asked for a hash of {text!r}, which differs between processes")


@dataclasses.dataclass(frozen=True)
class FastTextOptions(SkipGramOptions):
    """See `SkipGramOptions`; ``sample`` and ``lr`` have fastText's own defaults, ``buckets``, for
    hashes of n-grams, are 2,000,000 there."""

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

    def _untrained(self, **settings: Any) -> Any:
        options = self._options
        n_grams = {"min_n": options.min_n, "max_n": options.max_n, "bucket": options.buckets}
        return FastText(**settings, **n_grams)

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """See `SkipGram.table`; also with ids that only have n-grams in common with others."""
        table, known = super().table()
        wv, options = self._model.wv, self._options
        there = np.zeros(options.buckets, dtype=bool)
        there[np.concatenate(wv.buckets_word)] = True
        sizes = options.min_n, options.max_n, options.buckets
        for number in np.flatnonzero(~known[SPECIALS:]) + SPECIALS:
            found = ft_ngram_hashes(self._names[number], *sizes)
            shared = [bucket for bucket in found if there[bucket]]
            if shared:
                table[number], known[number] = wv.vectors_ngrams[shared].mean(0), True
        return table, known

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, random = super().state()
        del arrays["input"]
        wv = self._model.wv
        return {**arrays, "words": wv.vectors_vocab, "ngrams": wv.vectors_ngrams}, random

    def restore(self, arrays: dict[str, np.ndarray], rest: dict[str, Any]) -> None:
        super().restore({**arrays, "input": self.vectors()}, rest)
        wv = self._model.wv
        wv.vectors_vocab[:], wv.vectors_ngrams[:] = arrays["words"], arrays["ngrams"]
        wv.adjust_vectors()


class Embedder(NamedTuple):
    """One method: its settings, and the vectors in training."""

    options: type[SkipGramOptions]
    model: type[SkipGram]


# By the name of `fairseq-xling embed train --method`.
embedders: Registry[Embedder] = Registry("`--method`")
embedders.register("skip-gram")(Embedder(SkipGramOptions, SkipGram))
embedders.register("fasttext")(Embedder(FastTextOptions, FastTextSubwords))
