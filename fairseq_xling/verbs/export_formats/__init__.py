"""The formats of `fairseq-xling export`, found by name: those of `formats`, and a file each here.

A format is a class with ``help``, ``options``, a dataclass, and ``write(job, options)``, which
fills a folder. Its heavy imports belong inside ``write``: the options of all formats are declared
before any is used.
"""

from __future__ import annotations

from typing import Any, Protocol

from fairseq_xling.api.job import Job as Job
from fairseq_xling.core.options import NoOptions
from fairseq_xling.core.registry import Registry


class ExportFormat(Protocol):
    """One of ``FORMATS``."""

    help: str  # what a folder of it is
    options: type = NoOptions  # a dataclass of its own options (`fairseq_xling.core.options`)

    def write(self, job: Job, options: Any) -> str:
        """Fill ``job.folder``; returns what was written, in one line.

        Raises:
            UserError: if the model cannot be written in this format; the folder is then removed.
        """


FORMATS: Registry[type[ExportFormat]] = Registry(
    "`--format`", __name__, needs=("help", "options", "write")
)
