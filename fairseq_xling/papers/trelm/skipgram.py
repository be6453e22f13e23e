"""Skip-gram with negative sampling over subword ids (Mikolov et al. 2013), trained by gensim.

TreLM, appendix A.5, trains the vectors of the new vocabulary on monolingual text that is already
split into subwords. Text is streamed from the token files of a data folder.

Symbols: ``V`` ids of the vocabulary, ``K`` ids that are trained, ``D`` width.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from gensim.models import Word2Vec

from fairseq_xling.analysis.gensim_epoch import LAST_LR, train_epoch
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.data.permutation import permute
from fairseq_xling.errors import UserError
from fairseq_xling.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, Range, check_fields, numbers
from fairseq_xling.seeds import SEEDS

_PIECE = 1 << 16  # sentences numbered, or thousands of tokens counted, at a time
_LONGEST = 10_000  # gensim silently cuts longer sentences, so they are passed in pieces


@dataclasses.dataclass(frozen=True)
class SkipGramOptions:
    """Settings of the training.

    Attributes:
        dim: D.
        epochs: passes over the text.
        window: maximum number of ids on each side; each centre draws its own, from 1 to window.
        negative: negative samples per predicted word.
        min_count: ids that occur less often are left out.
        sample: ids of a larger share of the text are subsampled; 0 keeps all.
        lr: initial learning rate, falling linearly to 1e-4.
        threads: more than 1 is faster, but not reproducible.
        seed: of the initial vectors, the order of the sentences, windows and drawn words.
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


def count_ids(files: Sequence[TokenFile], size: int) -> np.ndarray:
    """The count of each of ``size`` ids in ``files``, (V,) int64; 0 for special symbols."""
    counts = np.zeros(size, dtype=np.int64)
    for file in files:
        for start in range(0, len(file.tokens), 16 * _PIECE):
            piece = np.asarray(file.tokens[start : start + 16 * _PIECE])
            counts += np.bincount(piece, minlength=size)
    counts[:SPECIALS] = 0
    return counts


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
    never used, the initial vectors and all draws come from the seed.

    Args:
        files: training text.
        counts: (V,), `count_ids` of it.
        symbols: the V spellings, for methods that read them.

    Raises:
        UserError: if no id occurs often enough.
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
        settings = {
            "sg": 1,
            "hs": 0,
            "vector_size": options.dim,
            "window": options.window,
            "negative": options.negative,
            "min_count": 1,
            "sample": options.sample,
            "alpha": options.lr,
            "min_alpha": LAST_LR,
            "workers": options.threads,
            "seed": options.seed,
            "sorted_vocab": 0,
            "hashfxn": _no_hash,
        }
        self._model = self._untrained(settings)
        known = zip(self._names[self.ids].tolist(), counts[self.ids].tolist(), strict=True)
        self._model.build_vocab_from_freq(dict(known))

    def _spell(self, size: int, symbols: Sequence[str]) -> np.ndarray:
        """(V,) the words that stand for the ids, all different."""
        return np.array([str(i) for i in range(size)], dtype=object)

    def _untrained(self, settings: dict[str, Any]) -> Any:
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
