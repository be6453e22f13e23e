"""Normalisation of vectors before a map between two spaces is learnt.

Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1, and Artetxe et al. 2018, "A
robust self-learning method for fully unsupervised cross-lingual mappings", section 3.1: rows of
equal length make an orthogonal map maximise cosines, rows of mean zero keep it from merely mapping
one mean onto the other.

Symbols: ``N`` rows, ``D`` width. Rows are vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError, about, shown
from fairseq_xling.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

NORMALIZATIONS: Registry[Callable[[Tensor], Tensor]] = Registry("normalisation")


@NORMALIZATIONS.register("unit")
def unit(x: Tensor) -> Tensor:
    """Rows of length 1: ``x_i / ||x_i||``; a zero row stays zero.

    >>> import torch
    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = x.norm(dim=-1, keepdim=True)
    return x / lengths.where(lengths > 0, lengths.new_ones(()))


@NORMALIZATIONS.register("centre")
def centre(x: Tensor) -> Tensor:
    """Rows of mean zero: ``x_i - (1/N) sum_j x_j``.

    >>> import torch
    >>> centre(torch.tensor([[1.0, 4.0], [3.0, 0.0]])).tolist()
    [[-1.0, 2.0], [1.0, -2.0]]
    """
    return x - x.mean(0)


LENGTH = 3.0


@NORMALIZATIONS.register("scale")
def scale(x: Tensor) -> Tensor:
    """All rows times one factor, so that their root mean square length is 3.

    ``x_i 3 / sqrt((1/N) sum_j ||x_j||^2)``; lengths keep their proportions. An orthogonal map
    cannot undo a difference in scale, by which a discriminator would distinguish two spaces. The
    length suits the learning rate of 0.1 in adversarial training: on synthetic text more seeds
    succeed with 3 than with 1 or 8.

    >>> import torch
    >>> scale(torch.tensor([[1.0, 0.0], [0.0, 7.0]])).norm(dim=1)
    tensor([0.6000, 4.2000])
    """
    size = x.square().sum(-1).mean().sqrt()
    return x * (LENGTH / size) if size > 0 else x


ROUNDS = 5


@NORMALIZATIONS.register("iterative")
def iterative(x: Tensor) -> Tensor:
    """Unit length, then mean zero, five times: both hold at the end.

    "Emerging Cross-lingual Structure", section 5.1. In this order a constant offset between spaces
    is not undone; `centre_first` undoes it.

    >>> import torch
    >>> x = iterative(torch.tensor([[3.0, 1.0], [1.0, 2.0], [0.0, -4.0]], dtype=torch.float64))
    >>> bool(x.mean(0).norm() < 1e-12)
    True
    """
    for _ in range(ROUNDS):
        x = centre(unit(x))
    return x


@NORMALIZATIONS.register("centre-first")
def centre_first(x: Tensor) -> Tensor:
    """Mean zero, then unit length, five times, and mean zero at the end.

    >>> import torch
    >>> x = torch.tensor([[3.0, 1.0], [1.0, 2.0], [0.0, -4.0]])
    >>> torch.allclose(centre_first(x), centre_first(x + 100), atol=1e-4)
    True
    """
    for _ in range(ROUNDS):
        x = unit(centre(x))
    return centre(x)


def normalize(x: Tensor, steps: str) -> Tensor:
    """``x`` (N, D) after the comma-separated ``steps``, from left to right; ``none`` or '' is none.

    >>> import torch
    >>> normalize(torch.tensor([[5.0, 1.0], [1.0, 1.0]]), "centre,unit").tolist()
    [[1.0, 0.0], [-1.0, 0.0]]

    Raises:
        UserError: for an unknown step (with near matches).
    """
    for step in parse_steps(steps):
        x = NORMALIZATIONS[step](x)
    return x


def parse_steps(steps: str, name: str = "--normalize") -> list[str]:
    """The names in a comma-separated list, each checked; ``name`` is the option, for messages.

    >>> parse_steps("unit, centre"), parse_steps("none")
    (['unit', 'centre'], [])
    """
    if not isinstance(steps, str):
        raise UserError(f"`{name}` must be names separated by commas, got {shown(steps)}")
    if steps.strip() in ("", "none"):
        return []
    names = [step.strip() for step in steps.split(",")]
    for step in names:
        if not step:
            raise UserError(f"`{name}` must be names separated by commas, got {steps!r}")
        with about(f"`{name}`"):
            NORMALIZATIONS.check(step)
    return names
