"""The methods of `fairseq-xling map` that learn from pairs of states, found by name.

A method turns sums over pairs (`fairseq_xling.mapping.sums`) into matrices. Heavy imports belong
inside ``solve``: the help of all methods is read before any is run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from fairseq_xling.core.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.mapping.sums import Sums


class Matrices(NamedTuple):
    """``moving`` (D, F) is applied to moving rows, ``fixed`` (E, F) to fixed ones, if not None."""

    moving: Tensor
    fixed: Tensor | None = None


class PairedMethod(Protocol):
    """A class in a file of this folder, registered in ``PAIRED``.

    Attributes:
        help: one line for the user.
        normalize: its default steps of normalisation.
        square: whether both sides must be equally wide.
        any_pairs: whether it accepts pairs of every kind, or links of words alone.
    """

    help: str
    normalize: str
    square: bool
    any_pairs: bool

    def solve(self, sums: Sums) -> Matrices:
        """The matrices that align the two sides of the pairs."""


PAIRED: Registry[type[PairedMethod]] = Registry("mapping method", "fairseq_xling.mapping.paired")
