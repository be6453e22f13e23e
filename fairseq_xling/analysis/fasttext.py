"""fastText: skip-gram with character n-grams (Bojanowski et al. 2017, "Enriching
Word Vectors with Subword Information"), trained by gensim.

The baseline without an encoder of Conneau et al. 2020, "Emerging Cross-lingual Structure", section
5.1.1. The vector of a word is the mean of its own row and those of its n-grams.

Symbols: ``K`` words, ``D`` width.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gensim.models import FastText

from fairseq_xling.analysis.gensim_epoch import LAST_LR, text_seed, train_epoch
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import COUNT, SEEDS, Range, check_fields, numbers


@dataclasses.dataclass(frozen=True)
class FastTextOptions:
    """Settings of the training; fastText's own except ``dim``, which is that of its published
    vectors, and ``buckets``.

    Attributes:
        dim: D.
        epochs: passes over the text.
        window: maximum number of words on each side that a word predicts.
        negative: negative samples per predicted word.
        min_count: words that occur less often are left out.
        min_n, max_n: lengths of the shortest and the longest n-gram.
        buckets: hash buckets of n-grams; fastText has 2,000,000.
        lr: initial learning rate, falling linearly to 1e-4.
        threads: more than 1 is faster, but not reproducible.
        seed: random seed; what is drawn also depends on the counts of the text (`text_seed`).
    """

    dim: int = numbers(300, COUNT)
    epochs: int = numbers(5, COUNT)
    window: int = numbers(5, COUNT)
    negative: int = numbers(5, COUNT)
    min_count: int = numbers(5, COUNT)
    min_n: int = numbers(3, COUNT)
    max_n: int = numbers(6, COUNT)
    buckets: int = numbers(200_000, COUNT)
    lr: float = numbers(0.05, Range(LAST_LR, 1))
    threads: int = numbers(1, COUNT)
    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        check_fields(type(self), self)
        if self.max_n < self.min_n:
            raise UserError(f"`--max-n` must be at least {self.min_n}, got {self.max_n}")


LONGEST = 1000  # letters of a word; one has as many n-grams, and what is longer is no word


class WordVectors:
    """The vectors in training, an epoch at a time, so that the state can be saved in between.

    With one thread the result depends only on text and options.

    Args:
        counts: how often each word occurs in the text.

    Attributes:
        words: the K that are trained, most frequent first.

    Raises:
        UserError: if no word occurs often enough.
    """

    def __init__(self, counts: Counter[str], options: FastTextOptions):
        self._options = options
        kept = {
            word: n for word, n in counts.items() if n >= options.min_count and len(word) <= LONGEST
        }
        if not kept:
            most = max(counts.values(), default=0)
            raise UserError(
                f"no word occurs at least {options.min_count} times (`--min-count`), the most "
                f"frequent one {most} times"
            )
        self.words = sorted(kept, key=lambda word: (-kept[word], word))
        self._total = counts.total()
        self._model = FastText(
            sg=1,
            hs=0,
            vector_size=options.dim,
            window=options.window,
            negative=options.negative,
            min_count=1,
            min_n=options.min_n,
            max_n=options.max_n,
            bucket=options.buckets,
            alpha=options.lr,
            min_alpha=LAST_LR,
            workers=options.threads,
            seed=text_seed(options.seed, (kept[word] for word in self.words)),
            sorted_vocab=0,
        )
        self._model.build_vocab_from_freq({word: kept[word] for word in self.words})

    def train_epoch(self, epoch: int, sentences: Iterable[list[str]]) -> None:
        """Epoch number ``epoch``, from 0, over ``sentences`` of words."""
        train_epoch(
            self._model, epoch, sentences, self._total, self._options.lr, self._options.epochs
        )

    def vectors(self) -> np.ndarray:
        """(K, D) float32, rows in the order of ``words``."""
        return self._model.wv.vectors

    def state(self) -> tuple[dict[str, np.ndarray], list[Any]]:
        """Everything needed to resume training: arrays, and a JSON value."""
        _, keys, *rest = self._model.random.get_state()
        wv = self._model.wv
        arrays = {"words": wv.vectors_vocab, "ngrams": wv.vectors_ngrams, "random": keys}
        return {**arrays, "output": self._model.syn1neg}, rest

    def restore(self, arrays: dict[str, np.ndarray], rest: list[Any]) -> None:
        """Resume from a `state`."""
        wv = self._model.wv
        wv.vectors_vocab[:], wv.vectors_ngrams[:] = arrays["words"], arrays["ngrams"]
        self._model.syn1neg[:] = arrays["output"]
        self._model.random.set_state(("MT19937", arrays["random"], *rest))
        wv.adjust_vectors()


def train(
    counts: Counter[str],
    sentences: Callable[[], Iterable[list[str]]],
    options: FastTextOptions,
    keep: Callable[[int, WordVectors], None] = lambda epoch, model: None,
    model: WordVectors | None = None,
    done: int = 0,
) -> WordVectors:
    """Train all epochs after the first ``done``.

    Args:
        sentences: called for each epoch.
        keep: called after each with its number, from 1.
        model: the model to continue with.
    """
    model = model or WordVectors(counts, options)
    for epoch in range(done, options.epochs):
        model.train_epoch(epoch, sentences())
        keep(epoch + 1, model)
    return model
