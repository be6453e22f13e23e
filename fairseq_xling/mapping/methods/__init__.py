"""The methods of `fairseq-xling map`: one file each, found by name.

A method finds W with ``moving @ W`` near ``fixed``. Heavy imports belong inside ``fit``: the
options of all methods are declared before any is run.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from fairseq_xling.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.mapping.space import Space


@dataclasses.dataclass
class Fit:
    """What a method found for one seed.

    Attributes:
        w: (D, D), the map.
        history: what it went through (JSON values).
        flaw: why the map is worthless, if the method can tell by itself.
    """

    w: Tensor
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    flaw: str | None = None


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What a method may ask of the run it is part of.

    Attributes:
        seed: of everything random.
        criterion: how good a map is without a dictionary; larger is better.
        show: says in a few words how far it is, after a number of its ``steps``.
    """

    seed: int
    criterion: Callable[[Tensor], float]
    show: Callable[[int], object]


class Method(Protocol):
    """One file in this folder, registered in ``METHODS``.

    Attributes:
        help: one line for the user.
        normalize: the steps of normalisation that suit it, if the user names none.
        seeded: whether seeds give different maps, so that several are worth trying.
        from_shared_words: whether it starts from words spelt alike; it then leaves out those of
            `split_shared`, by which its map is judged.
    """

    help: str
    normalize: str
    seeded: bool
    from_shared_words: bool

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Options of its own."""

    def settings(self, args: argparse.Namespace) -> dict[str, Any]:
        """All that decides its map besides vectors and seed (JSON values).

        Raises:
            UserError: for options that make no sense.
        """

    def steps(self, args: argparse.Namespace) -> int:
        """How many steps it will report for a seed."""

    def fit(
        self, moving: Space, fixed: Space, args: argparse.Namespace, around: Surroundings
    ) -> Fit:
        """Find the map for one seed.

        Raises:
            UserError: if the vectors lack what the method needs.
        """


METHODS: Registry[type[Method]] = Registry("mapping method", "fairseq_xling.mapping.methods")
