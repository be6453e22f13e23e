"""The commands of steps: their programs, what these would refuse, and what they read.

A verb says by its options which words are files (`core.named_files`), so nothing lists them again:
an input that a command names is an input of its step.
"""

import contextlib
import functools
import io
import itertools
import re
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.command_line import build_parser, join_words, verbs
from fairseq_xling.core.errors import UserError, program_error
from fairseq_xling.core.named_files import HeldOut, Input, Listed, arguments_of, pieces
from fairseq_xling.engine.compat import require_engine
from fairseq_xling.engine.extensions import take_folders
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.workflow import launch

# Options of fairseq's programs: of files; of folders that are written, and code, which counts as
# such.
_READ = ("--path", "--restore-file", "--finetune-from-model")
_PATH = re.compile(r"/|\w\.[A-Za-z]\w*(:\w+)?$")
_UNREAD = ("--save-dir", "--results-path", "--tensorboard-logdir", "--log-file", "--user-dir")


def find_program(name: str) -> list[str]:
    """The beginning of a command: the program installed with this Python, else the one on PATH."""
    if name == "python":
        return [sys.executable]
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
            _parsed(command[1:])
        elif program.startswith("fairseq-"):
            _check_engine_command(program, command[1:])
    except UserError as error:
        raise UserError(f"step {step!r} would fail: {program}: {error}") from None


def named_files(command: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The words of a command that may be files or folders which it reads, or several in one word,
    and whether nobody may look into one before; of a command that is refused there are none."""
    program, *words = map(str, command)
    if Path(program).name == "fairseq-xling":
        try:
            verb, parser, args = _parsed(words)
        except UserError:
            return  # as `check_command` says
        listed = []
        for _, how, text in arguments_of(parser, args):
            if isinstance(how, Listed):
                listed.append(text)
            elif isinstance(how, Input):
                yield text, isinstance(how, HeldOut)
        if listed:
            # An empty one is still to be filled, by a step before.
            there = all(Path(text).is_dir() and any(Path(text).iterdir()) for text in listed)
            yield from ((str(path), False) for path in (verb.reads(args) if there else listed))
        return
    for before, word in itertools.pairwise([program, *words]):
        option, equals, value = word.partition("=")
        if word.startswith("-") and equals:
            before, word = option, value
        # Other words are numbers and names, even where there is a file of that name.
        named = before in (program, *_READ) or any(map(_PATH.search, all_pieces(word)))
        if named and before not in _UNREAD and not word.startswith("-"):
            yield word, False


def all_pieces(text: str) -> list[str]:
    """The `pieces` of ``text``, and what they have on either side of a colon."""
    found = pieces(text)
    return [*found, *(half for piece in found if ":" in piece for half in piece.split(":") if half)]


def _parsed(words: Sequence[str]) -> tuple[object, ArgumentParser, Namespace]:
    """The module of a verb, its parser, and these ``words`` as it reads them."""
    joined = join_words(take_folders(list(words))[1], verbs())
    said = io.StringIO()
    try:
        parser = _parser(joined[0] if joined else "")
        with contextlib.redirect_stderr(said):
            args = parser.parse_args(joined)
    except SystemExit:
        raise program_error(said.getvalue().strip()) from None
    return verbs()[args.verb].load(), parser, args


@functools.cache
def _parser(verb: str) -> ArgumentParser:
    return build_parser([verb])


def _check_engine_command(program: str, arguments: Sequence[str]) -> None:
    """Read the arguments of one of fairseq's programs as it would; those we never start pass."""
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
