"""Goldens of messages: what each verb says of a bad value of each of its options.

The quick ones are refused before any file is read, so that their calls name files that are not
there; a call that is not refused for its option would do nothing but say so.
"""

import argparse
import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from fairseq_xling import cli, command_line
from tests.golden.text import normalise
from tests.golden.world import call, inside
from tests.hostile.calls import VERBS, parsers
from tests.hostile.inputs import ALIKE

# A sign in front would be taken for an option, so values are joined by "=".
_BAD = ("", "hello", "-1", "0", "nan", "1e400", "1.5", "--", "en=", "a,a", "99999999999999999999")
_EACH = 3  # of these in turn for an option
# Verbs that begin with what they do where an option is not refused, or that need nothing.
_LEFT_OUT = {"demo", "user-dir", "clcr", "report", "synthesize"}


def _options(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if action.option_strings and not isinstance(action, argparse._HelpAction):
            yield action


def _calls(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Calls of a verb with each bad value of each option, what is valid before it."""
    base = f"{name} {VERBS[name]}".replace("{w}", "w").strip()
    yield name
    yield f"{base} --no-such-option"
    for turn, action in enumerate(_options(parser)):
        option = max(action.option_strings, key=len)
        if option in ("--output", "--user-dir", "--only-step", "--launcher"):
            continue
        if action.nargs == 0:
            yield f"{base} {option}=x"
            continue
        for value in [_BAD[(turn * _EACH + k) % len(_BAD)] for k in range(_EACH)]:
            yield f"{base} {option}={value}"


def _message(words: str) -> str:
    status, _, errors = call(words)
    lines = [line for line in errors.splitlines() if line.strip()]
    return f"{status} {lines[-1] if lines else ''}"


def _verb(name: str, parser: argparse.ArgumentParser) -> str:
    """Lines of option, value and message; those of a call's own files are the same for all."""
    lines = []
    # To build a parser takes ten times as long as to refuse an option.
    built = functools.cache(lambda name: command_line.build_parser([name]))
    once = mock.patch.object(cli, "build_parser", lambda argv: built(argv[0]))
    with tempfile.TemporaryDirectory() as here, inside(Path(here)), once:
        Path("w").mkdir()
        base = f"{name} {VERBS[name]}".replace("{w}", "w").strip()
        plain = _message(base)
        lines.append(f"\t{normalise(plain, here)}")
        for words in _calls(name, parser):
            said = _message(words)
            if said != plain:
                given = words.removeprefix(base).strip()
                lines.append(f"{given[:60]}\t{normalise(said, here)[:400]}")
        left = sorted(str(path) for path in Path(here).rglob("*"))
        lines += [f"left\t{path}" for path in left if path != f"{here}/w"]
    return "\n".join(lines) + "\n"


def goldens() -> dict[str, Callable[[], str]]:
    """A golden for each verb."""
    return {
        f"refusals/{name.replace(' ', '-')}": lambda name=name, parser=parser: _verb(name, parser)
        for name, parser in parsers().items()
        if name not in _LEFT_OUT and not ALIKE.match(name)
    }
