"""The formats of `fairseq-xling export`, found by name: those of `formats`, and a file each here.

A format is a class with ``options`` and ``write(job, args)``, which fills a folder; one of a user's
own may declare its options by ``add_arguments(parser)``. Its heavy imports belong inside ``write``:
the options of all formats are declared before any is used.
"""

from __future__ import annotations

import argparse
from typing import Any, Protocol

from fairseq_xling.api.job import Job as Job
from fairseq_xling.core.options import NoOptions, add_fields
from fairseq_xling.core.registry import Registry


class ExportFormat(Protocol):
    """One of ``FORMATS``."""

    help: str  # what a folder of it is
    options: type = NoOptions  # a dataclass of its own options (`fairseq_xling.core.options`)

    def add_arguments(self, parser: Any) -> None:
        """Its own options."""
        add_fields(parser, self.options)

    def write(self, job: Job, args: argparse.Namespace) -> str:
        """Fill ``job.folder``; returns what was written, in one line.

        Raises:
            UserError: if the model cannot be written in this format; the folder is then removed.
        """


FORMATS: Registry[type[ExportFormat]] = Registry("`--format`", __name__)
