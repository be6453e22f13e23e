"""The programs of commands, and whether one would be refused, asked before anything runs."""

import contextlib
import io
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.engine.compat import require_engine
from fairseq_xling.engine.extensions import take_folders
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.runs import launch
from fairseq_xling.runs.command_line import build_parser, join_words, verbs


def find_program(name: str) -> list[str]:
    """The beginning of a command: the program installed with this Python, else the one on PATH.

    Raises:
        UserError: if there is none.
    """
    own = Path(sys.executable).parent / name
    found = str(own) if own.is_file() else shutil.which(name)
    if found is None:
        if name.startswith("fairseq-"):
            require_engine()
        raise UserError(f"{name}: no such program next to {sys.executable} or on PATH")
    # What is only on PATH need not be a Python script; fairseq-xling does this by itself.
    if own.is_file() and name.startswith("fairseq-") and name != "fairseq-xling":
        return [sys.executable, "-m", launch.__name__, found]
    return [found]


def check_command(step: str, command: Sequence[str]) -> None:
    """Read the arguments of ``command`` as its program would; other people's programs pass."""
    program = Path(command[0]).name
    try:
        if program == "fairseq-xling":
            _check_verb(list(command[1:]))
        elif program.startswith("fairseq-"):
            _check_engine_command(program, command[1:])
    except UserError as error:
        raise UserError(f"step {step!r} would fail: {program}: {error}") from None


def _check_verb(arguments: list[str]) -> None:
    words = join_words(take_folders(arguments)[1], verbs())
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            build_parser(words).parse_args(words)
    except SystemExit:
        raise program_error(said.getvalue().strip()) from None


def _check_engine_command(program: str, arguments: Sequence[str]) -> None:
    """Read the arguments of one of fairseq's programs as it would, and do nothing with them.

    Args:
        program: such as `fairseq-train`; those that we never start pass.
    """
    prepare_engine()
    from fairseq import options

    import fairseq_xling.plugin

    parsers = {
        "fairseq-train": options.get_training_parser,
        "fairseq-generate": options.get_generation_parser,
        "fairseq-validate": options.get_validation_parser,
    }
    if program not in parsers:
        return
    words, ours = list(arguments), str(fairseq_xling.USER_DIR)
    for at in [i for i, word in enumerate(words[:-1]) if word == "--user-dir"][::-1]:
        if words[at + 1] == ours:  # the plug-in is loaded; fairseq would change where modules are
            del words[at : at + 2]
    try:
        parser = parsers[program]()
        parser.prog = program
        options.parse_args_and_arch(parser, words)
    except SystemExit as error:  # one line, meant for fairseq's own programs
        raise program_error(error) from None
