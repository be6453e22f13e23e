"""The formats of `fairseq-xling export`: one file each, found by name.

A format is a class with ``add_arguments(parser)`` for its own options and ``write(job, args)``,
which fills a folder. Its heavy imports belong inside ``write``: the options of all formats are
declared before any is used.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fairseq_xling.registry import Registry


@dataclass(frozen=True)
class Job:
    """What is exported, and where to.

    Attributes:
        checkpoint: the model's file, or a folder that `fairseq-xling export` wrote.
        data: its data folder, if it has moved.
        language: the language whose parts are chosen, for formats of one language.
        folder: an empty folder to fill, renamed to ``output`` if nothing fails.
        output: the folder's later name, for messages and cards.
    """

    checkpoint: str
    data: str | None
    language: str | None
    folder: Path
    output: Path


class ExportFormat(Protocol):
    """One file in this folder, registered in ``FORMATS``."""

    help: str  # what a folder of it is

    def add_arguments(self, parser: Any) -> None:
        """Its own options."""

    def write(self, job: Job, args: argparse.Namespace) -> str:
        """Fill ``job.folder``; returns what was written, in one line.

        Raises:
            UserError: if the model cannot be written in this format; the folder is then removed.
        """


FORMATS: Registry[type[ExportFormat]] = Registry("`--format`", __name__)
