"""How the encoder is kept from telling the languages apart, found by name.

To add one, put a file here with a class registered under ``@adversaries.register("name")``. It is
made as ``Kind(settings)``. Parameters that its loss does not reach stand still in that update, with
their momentum; the task sees to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from torch import Tensor

from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class Settings:
    """``steps`` of the tagger for one of D where they alternate, and D's ``smoothing``."""

    steps: int = 6
    smoothing: float = 0.3


@dataclass(frozen=True)
class Losses:
    """What an update minimises, ``total``, and its parts where they were computed.

    ``logits`` (B,) are those of D, and ``target`` (B,) whether a sentence is of the target.
    """

    total: Tensor
    tagging: Tensor | None = None
    language: Tensor | None = None
    logits: Tensor | None = None
    target: Tensor | None = None


class Adversary(Protocol):
    """One file in this folder.

    Attributes:
        discriminates: whether there is a D, which reads sentences of both languages.
    """

    discriminates: ClassVar[bool]

    def __init__(self, settings: Settings): ...

    def __call__(
        self, model: Any, parts: Sequence[Any], update: int, weight: float, tag: Callable
    ) -> Losses:
        """The losses of one update.

        Args:
            model: an `AdversarialTagger`.
            parts: sentences of each language, as it reads them.
            update: number of updates before this one.
            weight: lambda.
            tag: L_tag of the model's outputs.
        """


adversaries: Registry[type[Adversary]] = Registry("`--adversary`", __name__)
