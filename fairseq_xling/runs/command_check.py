"""Whether a command that a run plans would be refused, asked before anything runs."""

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.errors import UserError, program_error
from fairseq_xling.guards.commands import check_engine_command


def check_command(step: str, command: Sequence[str]) -> None:
    """Read the arguments of ``command`` as its program would; other people's programs pass.

    Raises:
        UserError: names the step, the program and the argument.
    """
    program = Path(command[0]).name
    try:
        if program == "fairseq-xling":
            _check_verb(list(command[1:]))
        elif program.startswith("fairseq-"):
            check_engine_command(program, command[1:])
    except UserError as error:
        raise UserError(f"step {step!r} would fail: {program}: {error}") from None


def _check_verb(arguments: list[str]) -> None:
    from fairseq_xling.cli.main import build_parser, join_words, verbs  # the verbs start runs

    words = join_words(arguments, verbs())
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            build_parser(words).parse_args(words)
    except SystemExit:
        raise program_error(said.getvalue().strip()) from None
