"""User errors are reported in one clear line, never as a traceback."""

import errno
import functools
import re
from collections.abc import Callable
from typing import Any


class UserError(Exception):
    """Bad input. The message is one line: the argument (or file and line), the rule, the value."""


def one_line(error: BaseException) -> str:
    """The single line that a command prints for ``error``.

    >>> one_line(UserError("`--alpha` must lie in [0, 1], got 2"))
    'fairseq-xling: error: `--alpha` must lie in [0, 1], got 2'
    """
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        text = f"no space left on device while writing {error.filename or 'output'}"
        text += "; free some space and run the same command again, finished parts are kept"
    elif isinstance(error, MemoryError):
        text = f"not enough memory ({error})"
    elif isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error)
    return "fairseq-xling: error: " + " ".join(text.split())


def broken_rule(message: str) -> str:
    """What an argument must be, if that is what argparse reports as ``message``; else nothing.

    >>> broken_rule("argument --seed: must be a whole number, got 'x'")
    "`--seed` must be a whole number, got 'x'"
    >>> broken_rule("unrecognized arguments: -x")
    ''
    """
    found = re.fullmatch(r"argument (?:\S+/)?(\S+): (must .*)", message, re.DOTALL)
    return f"`{found[1]}` {found[2]}" if found else ""


def usage_line(program: str, message: str) -> str:
    """The single line for what argparse reports as ``message``, in place of its lines of usage.

    >>> usage_line("fairseq-xling demo", "unrecognized arguments: -x")
    'fairseq-xling: error: unrecognized arguments: -x; `fairseq-xling demo --help` explains'
    """
    return one_line(UserError(broken_rule(message) or f"{message}; `{program} --help` explains"))


def exits_on_user_error(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a ``UserError`` or an ``OSError`` inside ``function`` into a one-line exit, status 1.

    Used where fairseq's own programs call into ours: ``SystemExit`` passes through the
    ``except Exception`` blocks of its trainer, and prints the line without a traceback.
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (UserError, OSError) as error:
            raise SystemExit(one_line(error)) from error

    return wrapper
