"""The methods of `fairseq-xling map`: one file each, found by name.

A method finds W with ``moving @ W`` close to ``fixed``. Heavy imports belong inside ``fit``: the
options of all methods are declared before any is run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from fairseq_xling.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.mapping.space import Space


@dataclasses.dataclass
class Fit:
    """A method's result for one seed.

    Attributes:
        w: (D, D), the map.
        history: its training history (JSON values).
        flaw: why the map is unusable, if the method itself can detect it.
    """

    w: Tensor
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    flaw: str | None = None


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What a method can use of its run.

    Attributes:
        seed: random seed.
        criterion: unsupervised quality of a map; larger is better.
        show: shows progress in a few words, after a number of its ``steps``.
    """

    seed: int
    criterion: Callable[[Tensor], float]
    show: Callable[[int], object]


class Method(Protocol):
    """One file in this folder, registered in ``METHODS``.

    Attributes:
        help: one line for the user.
        normalize: its default steps of normalisation.
        seeded: whether seeds give different maps, so that several are worth trying.
        options: a dataclass of its own options (`fairseq_xling.core.options`).
        from_shared_words: whether it starts from identically spelt words; it then leaves out those
            of `split_shared`, by which its map is evaluated.
    """

    help: str
    normalize: str
    seeded: bool
    from_shared_words: bool
    options: type

    def steps(self, options: Any) -> int:
        """The number of steps that it reports per seed."""

    def fit(self, moving: Space, fixed: Space, options: Any, around: Surroundings) -> Fit:
        """Find the map for one seed.

        Raises:
            UserError: if the vectors lack what the method needs.
        """


METHODS: Registry[type[Method]] = Registry("mapping method", "fairseq_xling.mapping.methods")
