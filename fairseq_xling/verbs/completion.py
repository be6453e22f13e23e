"""Print a script with which a shell completes verbs, options and file names.

  mkdir -p ~/.local/share/bash-completion/completions
  fairseq-xling completion bash > ~/.local/share/bash-completion/completions/fairseq-xling

A new shell then completes; for zsh, put the script as `_fairseq-xling` into a folder of `$fpath`.
The script is fixed: print it again after an upgrade. Verbs are completed as one word
(`eval-transfer`). Needs the extra `completion`.
"""

import argparse
import dataclasses
from typing import Any

from fairseq_xling.command_line import verbs
from fairseq_xling.core.options import argument

GROUP = "Start"
SHELLS = ("bash", "zsh", "tcsh")
PROGRAM = "fairseq-xling"
# What is named by a path, by its metavar.
_FOLDERS = ("DIR", "DATA", "RUN")
_FILES = ("FILE", "CHECKPOINT", "PATH")


@dataclasses.dataclass(frozen=True)
class Options:
    shell: str = argument(", ".join(SHELLS), "SHELL", choices=SHELLS, usage=True)


def run(options: Options) -> None:
    print(script(options.shell))


def script(shell: str) -> str:
    """A script for ``shell``, one of shtab's."""
    import shtab

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
