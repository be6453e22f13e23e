"""What an objective is: text in, one (S, A, W, C) example out."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.sources import Row, Side


@dataclass
class Example:
    """One (S, A, W, C), as arrays: source length T, target length U.

    Attributes:
        src: ``tokens``, ``langs`` and ``positions``, each (T,) int64; optionally ``segments`` and
            ``attn_group`` (T,): a token attends only to tokens of its own group.
        tgt: ``tokens`` (W), ``langs``, ``positions``, each (U,) int64, and ``predict`` (C),
            (U,) bool.
        order: A, (U,) int64 with -1 for none; ``None`` is the identity (then U = T).
        further: (U, K) int64 with -1 for none, or ``None``: source positions whose states are
            averaged with those of A.
        extra: further arrays specific to the objective.
    """

    src: dict[str, np.ndarray]
    tgt: dict[str, np.ndarray]
    order: np.ndarray | None = None
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    further: np.ndarray | None = None


@dataclass(frozen=True)
class Vocabulary:
    """The ids that each language may use.

    Attributes:
        sizes: number of ids by language, specials included.
        own: by language, the sorted ids (without specials) that occur in its training text;
            empty unless something asked for them.
        lang_ids: the number of each language.
    """

    sizes: dict[str, int]
    lang_ids: dict[str, int]
    own: dict[str, np.ndarray] = field(default_factory=dict)

    def side(self, side: Side) -> dict[str, np.ndarray]:
        """`side_of` a sentence as it stands."""
        return side_of(side.tokens, self.lang_ids[side.lang])


class Objective:
    """Base class of all objectives.

    ``reads`` determines its rows: a name of `fairseq_xling.data.feeds.readers`, such as
    ``"mono"`` (one language) or ``"parallel"`` (a pair). ``cfg`` is the task's configuration.
    An objective that ``needs_order`` reads word alignments; one that ``reorders`` predicts in
    another order than it reads, which requires a model with a TRILayer; one that ``emits`` gives no
    order, which requires an emission that finds it. One that ``asks`` for an auxiliary head by name
    requires it. ``criterion`` is the only one that reads its batches, if
    it is not the language models'. ``segments`` is the number of rows of a segment table that it
    uses. ``spec_rows`` are the rows of the specification that it implements.
    """

    name: ClassVar[str]
    reads: ClassVar[str]
    needs_order: ClassVar[bool] = False
    reorders: ClassVar[bool] = False
    emits: ClassVar[bool] = False
    asks: ClassVar[str] = ""
    criterion: ClassVar[str] = ""
    segments: ClassVar[int] = 0
    mixes_source_languages: ClassVar[bool] = False
    spec_rows: ClassVar[tuple[str, ...]] = ()

    def __init__(self, cfg: Any, vocabulary: Vocabulary):
        self.cfg, self.vocabulary = _ReadOnce(cfg), vocabulary

    @abstractmethod
    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        """The example for ``row``; all randomness comes from ``rng``."""

    def max_length(self, length: np.ndarray) -> np.ndarray:
        """Upper bound of the example's length for rows of ``length`` (n,), for batching."""
        return length


class _ReadOnce:
    """A configuration whose values are looked up when they are first read.

    OmegaConf resolves a value anew at each access, which for each row takes about as long as all
    else that an objective does.
    """

    def __init__(self, cfg: Any):
        self._cfg = cfg

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked for by copies and pickles, before there is a `_cfg`
            raise AttributeError(name)
        value = getattr(self._cfg, name)
        setattr(self, name, value)
        return value


def require_alignment(row: Row, objective: str) -> None:
    """Raise a UserError unless ``row`` is a pair with a word alignment."""
    if row.target is None or row.order is None:
        raise UserError(f"objective {objective!r} needs parallel text with word alignments")


def side_of(tokens: np.ndarray, lang: int) -> dict[str, np.ndarray]:
    """An unchanged sentence of the language with number ``lang``: tokens, langs, positions (n,)."""
    langs = constant(lang, len(tokens))
    return {"tokens": tokens, "langs": langs, "positions": np.arange(len(tokens))}


def constant(value: int, length: int) -> np.ndarray:
    """``value`` repeated, (length,) int64."""
    return np.full(length, value, dtype=np.int64)
