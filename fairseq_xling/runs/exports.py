"""Descriptions of a run for other programs: one function each, registered in ``EXPORTS``.

It is called with the run's folder, its steps, their digests by name, what makes a step's command
of its name, and the threads of a program; it writes into the folder and returns what to do next.
"""

from collections.abc import Callable

from fairseq_xling.registry import Registry

EXPORTS: Registry[Callable[..., str]] = Registry("format of `--export`", "fairseq_xling.cluster")
