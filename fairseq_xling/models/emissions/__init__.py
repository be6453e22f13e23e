"""Emissions: how the slots of the upper half become the words of a translation, found by name.

A slot is a position of the upper half that starts from a source position's state. `--emission` is a
property of the model: it decides which slots there are, what the loss of a translation is, and how
one is read from the final states. To add one, put a file here, or in your own folder, with a class
registered under ``@emissions.register("name")``. Every emission has `place` and `write`; one whose
slots are not the positions of the translation also has `fits` and `loss`, and `best` for glancing.

R rows (sentences, or candidates for them), T source length, S slots, U words of the translation,
D width, V vocabulary, W what is written.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from fairseq_xling.core.registry import Registry
from fairseq_xling.models.best_tokens import Few
from fairseq_xling.models.encoder import EncoderShape

emissions: Registry = Registry("`--emission`", __name__)

# (n, D) states to (n, V); with ``tokens`` (R, C), (R, S, D) to (R, S, C) of each row's own tokens
Logits = Callable[..., Tensor]


@dataclass(frozen=True)
class Reading:
    """How translations are read from final states, where an emission has a choice.

    Attributes:
        keep_repeats: do not collapse consecutive repeats.
        unk_penalty: taken from the logit of ``<unk>``.
        blank_penalty: taken from the logit of the symbol that writes nothing; ``None`` for the
            model's own.
        word_bonus: added to the score of a path for each word, in nats; ``None`` for the model's
            own.
        lookahead: take the likeliest next slot, not the likeliest path.
        beam: prefixes that a search keeps; 1 reads the likeliest alignment.
        tokens: (R, C) the tokens that each row may write, as of `Few`; ``None`` for all.
        scored: False if log-probabilities are not needed; an emission that does without them gives
            NaN.
    """

    keep_repeats: bool = False
    unk_penalty: float = 0.0
    blank_penalty: float | None = None
    word_bonus: float | None = None
    lookahead: bool = False
    beam: int = 1
    tokens: Tensor | None = None
    scored: bool = True

    def few(self, inside: Tensor) -> Few | None:
        """What `best_tokens` needs of them, for the slots ``inside`` (R, S)."""
        return None if self.tokens is None else Few(self.tokens, inside)


class Placed(NamedTuple):
    """The slots of some rows.

    Attributes:
        tgt: their ``langs``, ``positions`` and perhaps ``padding_mask`` (R, S), and with
            `--slot-layers` ``first`` (R, T), as `upper` reads.
        order: (R, S) source positions, -1 for the null state; ``None`` is the identity.
        lengths: (R,) slots of each row.
    """

    tgt: dict[str, Tensor]
    order: Tensor | None
    lengths: Tensor


class Written(NamedTuple):
    """What is read from rows.

    Attributes:
        tokens: (R, W); log_probs: theirs, in nats.
        slots: (R, W), the slot that each was read from.
        real: (R, W), False at padding and after the end; kept: which the translation consists of.
        sizes: (R,) number of tokens by which a row's log-probability is divided for its score.
    """

    tokens: Tensor
    log_probs: Tensor
    slots: Tensor
    real: Tensor
    kept: Tensor
    sizes: Tensor


class Best(NamedTuple):
    """How slots write a given translation, and what they would write by themselves.

    Attributes:
        path: (R, S) the token that each slot would have to write, -1 for a slot that does not
            matter; guess: (R, S) the token that it finds most probable.
        nll: (R,) the loss.
    """

    path: Tensor
    guess: Tensor
    nll: Tensor


class Emission(nn.Module):
    """Base class of the emissions.

    Attributes:
        in_order: whether each slot is a position of the translation, predicted as such; if not,
            `loss` sums over the ways in which slots can write it.
        upsample: slots of each source token, unless `--upsample` says how many.
        orderings: names of the orderings that can arrange its slots; empty for all.
        tuned: fields of `Reading` of which a model has a value of its own, each with the values
            that are worth trying.
        untuned: those values of a new model, where they are not 0.
        options: further fields of `Reading` that `write` follows, and that others do not.
        searches: whether `write` can search with a `Reading.beam` above 1.
        lists: whether `write` follows `Reading.tokens`.
        unrecorded: values of `facts` that these leave out.
    """

    in_order: ClassVar[bool] = False
    upsample: ClassVar[int] = 2
    orderings: ClassVar[tuple[str, ...]] = ()
    tuned: ClassVar[Mapping[str, tuple[float, ...]]] = {}
    untuned: ClassVar[Mapping[str, float]] = {}
    options: ClassVar[tuple[str, ...]] = ()
    searches: ClassVar[bool] = False
    lists: ClassVar[bool] = False
    unrecorded: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, shape: EncoderShape):
        super().__init__()
        self.shape = shape
        for name in self.tuned:
            self.register_buffer(name, self._untuned(name))

    def of(self, reading: Reading, name: str) -> float:
        """The field ``name`` of ``reading``, or the model's own value of it."""
        value = getattr(reading, name)
        return float(getattr(self, name)) if value is None else value

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        # A checkpoint from before these values were kept in it has none.
        for name in self.tuned:
            state_dict.setdefault(f"{prefix}{name}", self._untuned(name))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _untuned(self, name: str) -> Tensor:
        return torch.tensor(self.untuned.get(name, 0.0))

    def facts(self) -> Mapping[str, Any]:
        """What a checkpoint's identity records: ``emission``, its name, and then its settings."""
        return {"emission": self.shape.emission}

    @abstractmethod
    def place(
        self,
        lengths: Tensor,
        order: Tensor | None,
        langs: Tensor,
        extent: tuple[int, bool] | None = None,
    ) -> Placed:
        """The slots of rows, in training and in translation.

        Args:
            lengths: (R,) positions of each row, with the frame: of the source, or what an ordering
                has found.
            order: (R, U) the source position of each, or ``None`` for the source's own order, which
                is the only one in training unless the emission is ``in_order``.
            langs: (R,) the language of each row.
            extent: the largest of ``lengths``, and whether one is smaller, where they are known: a
                GPU is waited for otherwise.
        """

    def fits(self, placed: Placed, words: Tensor, sizes: Tensor) -> Tensor:
        """Which translations the slots are enough for, (R,) bool; arguments as of `loss`."""
        raise NotImplementedError(type(self).__name__)

    def loss(
        self, states: Tensor, placed: Placed, words: Tensor, sizes: Tensor, logits: Logits
    ) -> Tensor:
        """The negative log-probability of each translation in nats, (R,); 0 where it has none.

        Args:
            states: (R, S, D), final.
            words: (R, U) of the translations, without the frame; sizes: (R,) their numbers.
        """
        raise NotImplementedError(type(self).__name__)

    def best(
        self, states: Tensor, placed: Placed, words: Tensor, sizes: Tensor, logits: Logits
    ) -> Best:
        """The likeliest of the ways that `loss` sums over, for glancing; arguments as there."""
        raise NotImplementedError(type(self).__name__)

    @abstractmethod
    def write(
        self,
        states: Sequence[Tensor],
        placed: Placed,
        logits: Sequence[Logits],
        reading: Reading,
    ) -> Written:
        """Translations from the final states (R, S, D) of each model of an ensemble; with a beam
        as many for each row, the likeliest first."""
