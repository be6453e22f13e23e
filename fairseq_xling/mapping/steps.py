"""Normalisations that keep their fitted means, so that they can be applied to other vectors.

`fairseq_xling.mapping.normalize` normalises a set by its own means. Here each step's mean is kept:
a map that was fitted on normalised vectors is applied to new ones after the same steps. Sets are
read in blocks, once for each mean, so they may be larger than memory.

Symbols: ``N`` rows, ``D`` width. Rows are vectors.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from fairseq_xling.core.errors import about
from fairseq_xling.core.registry import Registry
from fairseq_xling.mapping.normalize import LENGTH, ROUNDS, parse_steps, unit

Blocks = Callable[[], Iterable[Tensor]]


class Step(NamedTuple):
    """A single step: its name in `ELEMENTS`, and its parameters, float64 (empty if none)."""

    name: str
    value: Tensor


class Element:
    """A step that treats every row separately, once it is fitted.

    Attributes:
        looks: whether it must read the vectors that it is fitted on.
        loses: whether `undo` needs something of each row, which `lost` gives.
    """

    looks: ClassVar[bool]
    loses: ClassVar[bool] = False

    @staticmethod
    def fit(blocks: Iterable[Tensor]) -> Tensor:
        """Its parameters from the vectors (float64), which come in blocks of rows, at least one."""
        return torch.empty(0, dtype=torch.float64)

    @staticmethod
    def size(width: int) -> int:
        """How many parameters there are for vectors of ``width``."""
        return 0

    @staticmethod
    def apply(x: Tensor, value: Tensor) -> Tensor:
        """Rows (N, D) after the step; ``value`` is what `fit` found."""
        raise NotImplementedError

    @staticmethod
    def lost(x: Tensor) -> Tensor | None:
        """What the step removes from each of the rows (N, D), as (N, 1); None if nothing."""
        return None

    @staticmethod
    def undo(x: Tensor, value: Tensor, lost: Tensor | None) -> Tensor:
        """Rows (N, D) as they were before it; ``lost`` is what it removed."""
        raise NotImplementedError


ELEMENTS: Registry[type[Element]] = Registry("normalisation that a map can keep")

# Normalisations that are several steps, in terms of `ELEMENTS`.
_SEQUENCES = {
    "iterative": ("unit", "centre") * ROUNDS,
    "centre-first": ("centre", "unit") * ROUNDS + ("centre",),
}


@ELEMENTS.register("unit")
class _Unit(Element):
    looks, loses = False, True

    @staticmethod
    def apply(x: Tensor, value: Tensor) -> Tensor:
        return unit(x)

    @staticmethod
    def lost(x: Tensor) -> Tensor:
        return x.norm(dim=-1, keepdim=True)

    @staticmethod
    def undo(x: Tensor, value: Tensor, lost: Tensor | None) -> Tensor:
        return x * lost


@ELEMENTS.register("centre")
class _Centre(Element):
    looks = True

    @staticmethod
    def fit(blocks: Iterable[Tensor]) -> Tensor:
        total, count = 0.0, 0
        for block in blocks:
            total, count = total + block.double().sum(0), count + len(block)
        return total / count

    @staticmethod
    def size(width: int) -> int:
        return width

    @staticmethod
    def apply(x: Tensor, value: Tensor) -> Tensor:
        return x - value

    @staticmethod
    def undo(x: Tensor, value: Tensor, lost: Tensor | None) -> Tensor:
        return x + value


@ELEMENTS.register("scale")
class _Scale(Element):
    looks = True

    @staticmethod
    def fit(blocks: Iterable[Tensor]) -> Tensor:
        total, count = 0.0, 0
        for block in blocks:
            total, count = total + block.double().square().sum(), count + len(block)
        size = torch.as_tensor(total / count).sqrt()
        return (LENGTH / size if size > 0 else torch.ones_like(size)).reshape(1)

    @staticmethod
    def size(width: int) -> int:
        return 1

    @staticmethod
    def apply(x: Tensor, value: Tensor) -> Tensor:
        return x * value

    @staticmethod
    def undo(x: Tensor, value: Tensor, lost: Tensor | None) -> Tensor:
        return x / value


def parse_elements(steps: str) -> list[str]:
    """The single steps of the comma-separated normalisations ``steps``.

    >>> parse_elements("centre,unit"), parse_elements("none")
    (['centre', 'unit'], [])
    >>> parse_elements("iterative") == ["unit", "centre"] * 5
    True
    """
    names = [name for step in parse_steps(steps) for name in _SEQUENCES.get(step, (step,))]
    with about("`--normalize`"):
        for name in names:
            ELEMENTS.check(name)
    return names


def passes(steps: str) -> int:
    """How often `fit_steps` reads its vectors.

    >>> passes("iterative"), passes("unit"), passes("none")
    (5, 0, 0)
    """
    return sum(ELEMENTS[name].looks for name in parse_elements(steps))


def fit_steps(blocks: Blocks, steps: str) -> tuple[Step, ...]:
    """Fit the normalisations ``steps`` to vectors; `apply_steps` then gives what `normalize` does.

    Args:
        blocks: called for each reading; the vectors in blocks of rows (n, D), at least one row.

    >>> x = torch.tensor([[5.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    >>> found = fit_steps(lambda: [x[:1], x[1:]], "centre,unit")
    >>> apply_steps(x, found).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    >>> apply_steps(torch.tensor([[3.0, 9.0]]), found).tolist()
    [[0.0, 1.0]]
    """
    found: list[Step] = []
    for name in parse_elements(steps):
        element = ELEMENTS[name]
        seen = (apply_steps(x.double(), found) for x in blocks()) if element.looks else ()
        found.append(Step(name, element.fit(seen)))
    return tuple(found)


def apply_steps(x: Tensor, steps: Sequence[Step]) -> Tensor:
    """``x`` (N, D) after fitted steps, in its own type."""
    for name, value in steps:
        x = ELEMENTS[name].apply(x, value.to(x))
    return x


def lost_in_steps(x: Tensor, steps: Sequence[Step]) -> list[Tensor | None]:
    """What each of the fitted steps removes from the rows ``x`` (N, D), in their order."""
    lost: list[Tensor | None] = []
    for name, value in steps:
        lost.append(ELEMENTS[name].lost(x))
        x = ELEMENTS[name].apply(x, value.to(x))
    return lost


def undo_steps(x: Tensor, steps: Sequence[Step], lost: Sequence[Tensor | None]) -> Tensor:
    """``x`` (N, D) before fitted steps, which removed ``lost`` from its rows.

    >>> x = torch.tensor([[5.0, 1.0], [1.0, 1.0]])
    >>> found = fit_steps(lambda: [x], "iterative,scale")
    >>> torch.allclose(undo_steps(apply_steps(x, found), found, lost_in_steps(x, found)), x)
    True
    """
    for (name, value), removed in zip(reversed(steps), reversed(lost), strict=True):
        x = ELEMENTS[name].undo(x, value.to(x), removed)
    return x
