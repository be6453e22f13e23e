"""The modules of CLCR that `fairseq-train --task clcr` trains, found by name: T, E and R.

A model contains all modules trained so far, together with the one being trained (`--clcr-module`);
all others are frozen. To add one, put a file here with a `Module` registered under
``@modules.register("name")``.

B sentence pairs, M tokens of s1, N of s2 (with ``<s>``, ``</s>`` and padding), D and E widths
of the encoders. s1 is in the pair's first language, whose states are mapped; s2 in the second.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from fairseq_xling.core.registry import Registry


@dataclass(frozen=True)
class Sizes:
    """The sizes of a module: ``widths`` (D, E), and the longest sentence in tokens.

    ``encoders`` are the configurations of both (`LayerEncoder`), for a module with copies of them.
    """

    widths: tuple[int, int]
    positions: int
    encoders: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class PairStates:
    """A batch for modules.

    Attributes:
        states: r1 (B, M, D) and r2 (B, N, E).
        masks: (B, M) and (B, N), True at content.
        partner: (B, N) for each token of s2 the token of s1 that is its pivot, -1 for none; only
            for a module that ``needs_labels``. No token of s1 occurs twice.
        space: T12(r1), (B, M, E), for a module that comes after the transform.
        sources: both sides as encoders read them, for a module that has its own.
        most: how many pivots a sentence has at most, where that is known: a GPU is waited for
            otherwise.
    """

    states: tuple[Tensor, Tensor]
    masks: tuple[Tensor, Tensor]
    partner: Tensor | None = None
    space: Tensor | None = None
    sources: tuple[Mapping[str, Tensor], ...] = ()
    most: int | None = None


class Loss(NamedTuple):
    """The summed loss, what to divide it by, and sums to log: the same names in every batch of
    training, and in every batch of validation."""

    total: Tensor
    size: Tensor
    sums: dict[str, Tensor]


class Module(nn.Module):
    """Base class: ``Kind(settings, sizes)``.

    Attributes:
        after: names of modules that must have been trained before.
        needs_labels: whether it learns from pseudo-gold pivots.
    """

    after: ClassVar[tuple[str, ...]] = ()
    needs_labels: ClassVar[bool] = False

    @classmethod
    def key(cls, name: str, cfg: Any) -> str:
        """Its key in the model; modules with different keys can coexist."""
        return name

    @classmethod
    def settings(cls, cfg: Any) -> dict[str, Any]:
        """The settings to rebuild it from a checkpoint, from the model's options: JSON values."""
        raise NotImplementedError(cls.__name__)

    def forward(self, batch: PairStates) -> Loss:
        """The loss of one batch."""
        raise NotImplementedError(type(self).__name__)

    def for_training(self, cfg: Any, phase: str) -> None:
        """Called where it is the module being trained: settings that are not kept with it, of the
        model's options, and `--clcr-phase`."""

    def at_update(self, number: int) -> None:
        """``number`` optimiser steps of this training are done."""

    def end_update(self) -> None:
        """An optimiser step is done, in every process."""

    def begin(self, first: Iterable[PairStates], encoders: Sequence[nn.Module]) -> None:
        """Called before its first training, with the first batches of the training text and the
        encoders of both languages.

        A training that resumes after a kill calls it again, and then reads its checkpoint.
        """

    def go_on(self) -> None:
        """Called when a training starts from the checkpoint of an earlier one."""

    @classmethod
    def scores(cls, sums: Mapping[str, float], pair: Sequence[str]) -> dict[str, float]:
        """Figures computed from summed ``Loss.sums``; the same names for any sums."""
        raise NotImplementedError(cls.__name__)


modules: Registry[type[Module]] = Registry("`--clcr-module`", __name__)
