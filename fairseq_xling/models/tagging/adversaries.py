"""How the encoder is kept from telling the languages apart, found by name.

To add one, register a class under ``@adversaries.register("name")``. It is made as
``Kind(settings)``. Parameters that its loss does not reach stand still in that update, with their
momentum; the task sees to it.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from fairseq_xling.core.registry import Registry
from fairseq_xling.models.tagging.layers import language_loss


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


adversaries: Registry[type[Adversary]] = Registry("`--adversary`")


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: float) -> Tensor:
        ctx.weight = weight
        return states.view_as(states)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * -ctx.weight, None


def reverse(states: Tensor, weight: float) -> Tensor:
    """``states`` unchanged; backward, the gradient times ``-weight``.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (reverse(x, 0.5) * torch.tensor([3.0, 4.0])).sum().backward()
    >>> x.grad.tolist()
    [-1.5, -2.0]
    """
    return _Reversal.apply(states, weight)


@adversaries.register("none")
class NoAdversary:
    """L_tag."""

    discriminates = False

    def __init__(self, settings: Settings):
        pass

    def __call__(self, model, parts, update, weight, tag) -> Losses:
        tagging = tag(model(parts))
        return Losses(tagging, tagging)


@adversaries.register("reversal")
class Reversal:
    """L_tag + L_D(D(R_lambda(h))): D learns to tell the languages apart, what it reads not to."""

    discriminates = True

    def __init__(self, settings: Settings):
        self.smoothing = settings.smoothing

    def __call__(self, model, parts, update, weight, tag) -> Losses:
        outputs = model(parts, through=functools.partial(reverse, weight=weight))
        tagging = tag(outputs)
        language = language_loss(outputs["language"], outputs["target"], self.smoothing)
        return Losses(tagging + language, tagging, language, outputs["language"], outputs["target"])


@adversaries.register("flip")
class Flip:
    """An update of D on L_D, then k of the rest on L_tag + lambda L_D with the labels swapped.

    Which of them an update is depends on its number alone, so a training resumes where it was.
    """

    discriminates = True

    def __init__(self, settings: Settings):
        self.steps, self.smoothing = settings.steps, settings.smoothing

    def __call__(self, model, parts, update, weight, tag) -> Losses:
        if update % (1 + self.steps) == 0:
            outputs = model(parts, through=Tensor.detach, only_language=True)
            logits, target = outputs["language"], outputs["target"]
            language = language_loss(logits, target, self.smoothing)
            return Losses(language, None, language, logits, target)
        with frozen(model.discriminator):
            outputs = model(parts, through=lambda states: states)
        logits, target = outputs["language"], outputs["target"]
        tagging = tag(outputs)
        total = tagging + weight * language_loss(logits, ~target)
        language = language_loss(logits.detach(), target, self.smoothing)
        return Losses(total, tagging, language, logits, target)


@contextlib.contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Inside, what ``module`` computes has no gradient in its parameters."""
    parameters = list(module.parameters())
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
