"""The methods of `fairseq-xling map` that learn from pairs of states: one file each, by name.

A method turns sums over pairs (`fairseq_xling.mapping.sums`) into matrices. Heavy imports belong
inside ``solve``: the options of all methods are declared before any is run.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fairseq_xling.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from fairseq_xling.mapping.sums import Sums


class Matrices(NamedTuple):
    """``moving`` (D, F) is applied to moving rows, ``fixed`` (E, F) to fixed ones, if not None."""

    moving: Tensor
    fixed: Tensor | None = None


class PairedMethod(Protocol):
    """One file in this folder, registered in ``PAIRED``.

    A method's own options are listed in ``options``: arguments of its constructor, with
    defaults.

    Attributes:
        help: one line for the user.
        normalize: its default steps of normalisation.
        square: whether both sides must be equally wide.
        any_pairs: whether it accepts pairs of every kind.
    """

    help: str
    normalize: str
    square: bool
    any_pairs: bool

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its options for pairs; see `by_any_pairs`."""

    def solve(self, sums: Sums) -> Matrices:
        """The matrices that align the two sides of the pairs."""


PAIRED: Registry[type[PairedMethod]] = Registry("mapping method", "fairseq_xling.mapping.paired")


def by_any_pairs(parser: argparse.ArgumentParser) -> None:
    """The option of a method that accepts pairs of every kind."""
    from fairseq_xling.mapping.pairs import PAIRS

    kinds = ", ".join(f"{name}{' FILE' if PAIRS[name].reads else ''}" for name in PAIRS)
    parser.add_argument(
        "--pairs",
        nargs="+",
        required=True,
        metavar=("KIND", "FILE"),
        help=f"pairs to fit on: {kinds}",
    )
