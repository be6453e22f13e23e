"""User errors are reported in one clear line, never as a traceback."""

import errno
import functools
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
