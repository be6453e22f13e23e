"""The completion of every verb, written by shtab."""

import argparse
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.runs.command_line import verbs

PROGRAM = "fairseq-xling"
# What is named by a path, by its metavar.
_FOLDERS = ("DIR", "DATA", "RUN")
_FILES = ("FILE", "CHECKPOINT", "PATH")


def script(shell: str) -> str:
    """A script for ``shell``, one of shtab's.

    Raises:
        UserError: without shtab.
    """
    try:
        import shtab
    except ImportError:
        raise UserError(
            "`completion` needs the library shtab: pip install 'fairseq_xling[completion]'"
        ) from None
    places = {name: shtab.DIRECTORY for name in _FOLDERS} | {name: shtab.FILE for name in _FILES}
    return shtab.complete(_whole_parser(places), shell=shell)


def _whole_parser(places: dict[str, Any]) -> argparse.ArgumentParser:
    """Every verb with its options, unlike the command's own, which imports one verb."""
    parser = argparse.ArgumentParser(PROGRAM)
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    for name, verb in verbs().items():
        # A summary is a format to argparse.
        sub = commands.add_parser(name, help=verb.summary.replace("%", "%%"))
        verb.add_arguments(sub)
        for action in sub._actions:
            if isinstance(action.metavar, str) and action.metavar in places:
                action.complete = places[action.metavar]
    return parser
