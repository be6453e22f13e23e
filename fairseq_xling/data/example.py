"""What an objective is: text in, one (S, A, W, C) example out."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.sources import Row, Side, spans, split


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


@dataclass
class Examples:
    """B examples, their arrays back to back: N source and M target positions in all.

    Attributes:
        lengths, sizes: T and U of each, (B,).
        src, tgt, order: as those of an `Example`, (N,) and (M,).
        extra: by name the arrays, and the length of each example's, (B,).
        further: each example's, unless none has any.
    """

    lengths: np.ndarray
    sizes: np.ndarray
    src: dict[str, np.ndarray]
    tgt: dict[str, np.ndarray]
    order: np.ndarray | None = None
    extra: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    further: Sequence[np.ndarray | None] = ()

    @classmethod
    def of(cls, examples: Sequence[Example]) -> "Examples":
        """``examples``, in their order.

        A field that only some have is 0 in the others, an order the identity, an extra empty.
        """
        src, tgt = [e.src for e in examples], [e.tgt for e in examples]
        lengths, sizes = (np.array([len(one["tokens"]) for one in side]) for side in (src, tgt))
        order, extra = None, {}
        if any(e.order is not None for e in examples):
            order = _joined(
                [np.arange(len(e.tgt["tokens"])) if e.order is None else e.order for e in examples]
            )
        types = {name: array.dtype for e in examples for name, array in e.extra.items()}
        for name, dtype in types.items():
            arrays = [e.extra.get(name, np.empty(0, dtype)) for e in examples]
            extra[name] = _joined(arrays), np.array([len(array) for array in arrays])
        further = [e.further for e in examples]
        return cls(lengths, sizes, _joined_sides(src), _joined_sides(tgt), order, extra, further)

    def each(self) -> list[Example]:
        """The examples, one by one."""
        src = {name: split(values, self.lengths) for name, values in self.src.items()}
        tgt = {name: split(values, self.sizes) for name, values in self.tgt.items()}
        extra = {name: split(*values) for name, values in self.extra.items()}
        none = [None] * len(self.sizes)
        order = none if self.order is None else split(self.order, self.sizes)
        further = self.further or none
        return [
            Example(_at(b, src), _at(b, tgt), order[b], _at(b, extra), further[b])
            for b in range(len(self.sizes))
        ]


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays).astype(arrays[0].dtype)


def _joined_sides(sides: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    names = {name: None for side in sides for name in side}  # in order, without repeats
    return {
        n: _joined([s[n] if n in s else np.zeros_like(s["tokens"]) for s in sides]) for n in names
    }


def _at(b: int, columns: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: column[b] for name, column in columns.items()}


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

    def sides(self, sides: Sequence[Side]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """`side` of each of ``sides`` (B), back to back (N,), and their lengths (B,)."""
        lengths = np.array([len(side.tokens) for side in sides])
        fields = {
            "tokens": np.concatenate([side.tokens for side in sides]),
            "langs": np.repeat([self.lang_ids[side.lang] for side in sides], lengths),
            "positions": spans(0, lengths),
        }
        return fields, lengths

    def translations(self, rows: Sequence[Row]) -> Examples:
        """Both sides of ``rows`` as they stand, the target predicted."""
        src, lengths = self.sides([row.source for row in rows])
        tgt, sizes = self.sides([row.target for row in rows])
        tgt["predict"] = np.ones(sizes.sum(), dtype=bool)
        return Examples(lengths, sizes, src, tgt)


class Objective:
    """Base class of all objectives.

    ``reads`` determines its rows: a name of `fairseq_xling.data.feeds.readers`, such as
    ``"mono"`` (one language) or ``"parallel"`` (a pair). ``cfg`` is the task's configuration.
    An objective that ``needs_order`` reads word alignments; one that ``reorders`` predicts in
    another order than it reads, which requires a model with a TRILayer; one that ``emits`` gives no
    order, which requires an emission that finds it. One that ``asks`` for an auxiliary head by name
    requires it. ``criterion`` is the only one that reads its batches, if
    it is not the language models'. ``segments`` is the number of rows of a segment table that it
    uses.
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

    def __init__(self, cfg: Any, vocabulary: Vocabulary):
        self.cfg, self.vocabulary = _ReadOnce(cfg), vocabulary

    @abstractmethod
    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        """The example for ``row``; all randomness comes from ``rng``."""

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if "examples_of" not in vars(cls):  # a parent's would pass over what the class overrides
            cls.examples_of = Objective.examples_of

    def examples_of(self, rows: Sequence[Row], rngs: Iterable[np.random.Generator]) -> Examples:
        """The examples of ``rows``, as calls would give them; a generator of ``rngs`` serves until
        the next is taken.

        A class whose examples are quicker made together has its own; it is not inherited.
        """
        return Examples.of([self(row, rng) for row, rng in zip(rows, rngs, strict=True)])

    def max_length(self, length: np.ndarray) -> np.ndarray:
        """Upper bound of the example's length for rows of ``length`` (n,), for batching."""
        return length


class _ReadOnce:
    """A configuration whose values are looked up once: OmegaConf resolves each at every access, for
    each row in about the time of all else that an objective does."""

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


def ones(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An extra that has ``counts`` (B,) times a 1."""
    return np.ones(counts.sum(), dtype=np.int64), counts
