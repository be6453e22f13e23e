"""The studies of `fairseq-xling ablate`: one file each, found by name.

A study is a class with ``help``, ``add_arguments(parser)`` and ``run(args)``. Heavy imports belong
inside ``run``: the options of all studies are declared before any is run.
"""

import argparse
from typing import Protocol

from fairseq_xling.registry import Registry


class Study(Protocol):
    """One file in this folder, registered in ``STUDIES``.

    ``spec_rows``, if any, are the rows of the specification that it implements.
    """

    help: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its options."""

    def run(self, args: argparse.Namespace) -> None:
        """Run what is not done yet and write the tables."""


STUDIES: Registry[type[Study]] = Registry(
    "study",
    "fairseq_xling.studies.ablations",
    "fairseq_xling.papers.clcr.ablations",
    "fairseq_xling.papers.trelm.ablations",
)
