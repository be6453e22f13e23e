"""Nearest-neighbour criteria (cosine or CSLS), as a per-target penalty on the cosine.

Symbols: ``N`` sources, ``M`` targets, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.analysis.ranks import Repeats

# (targets (M, D), sources (N, D), k) to penalties (M,), or None for no penalty.
WAYS: Registry[Callable[[Tensor, Tensor, int], Tensor | None]] = Registry("`--nearest`")


@WAYS.register("cosine")
def cosine(targets: Tensor, sources: Tensor, k: int) -> None:
    """No penalty: the nearest target has the highest cosine."""


@WAYS.register("csls")
def csls(targets: Tensor, sources: Tensor, k: int) -> Tensor:
    """Half the mean cosine of a target to its ``k`` nearest sources.

    ``CSLS(x, y) / 2 = cos(x, y) - r_S(y) / 2 - r_T(x) / 2``, and the last is the same for all
    targets of a query, so ranks do not depend on it.
    """
    from fairseq_xling.mapping.csls import local_density

    return local_density(targets, sources, k) / 2


def paired_accuracy(
    x: Tensor, y: Tensor, way: str, k: int, repeats: Sequence[Repeats | None] = (None, None)
) -> tuple[float, float]:
    """P@1 of rows that pair up: of ``x`` among ``y``, and of ``y`` among ``x``; a tie is wrong.

    Args:
        x, y: (N, D), row n of one is the answer to row n of the other.
        way: a name in `WAYS`; k: its neighbours.
        repeats: of each direction, where texts are repeated (`right_answers`).

    >>> import torch
    >>> paired_accuracy(torch.eye(4), torch.eye(4)[[0, 1, 3, 2]], "cosine", 1)
    (0.5, 0.5)
    """
    from fairseq_xling.analysis.ranks import found

    forward, backward = (
        float(found(a, b, same, penalty=WAYS[way](b, a, k)).double().mean())
        for a, b, same in ((x, y, repeats[0]), (y, x, repeats[1]))
    )
    return forward, backward


def parse_ways(text: str) -> list[str]:
    """Names of a comma-separated list, each checked.

    >>> parse_ways("csls,cosine")
    ['csls', 'cosine']
    """
    names = list(dict.fromkeys(names_in(text)))
    if not names:
        raise UserError(f"`--nearest` must name at least one of {', '.join(WAYS)}, got {text!r}")
    for name in names:
        WAYS.check(name)
    return names
