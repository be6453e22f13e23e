"""User errors are reported in one clear line, never as a traceback."""

import contextlib
import errno
import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_PREFIX = "fairseq-xling: error: "
_MOST = 2000  # characters of a message
# Ends a message about a name that is unknown, and may be of the user's own code.
OWN = "; if it is your own, name its folder with `--user-dir`"

# What reading values of JSON, or of another description from outside, raises where they are of
# another form than expected.
MALFORMED = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


class UserError(ValueError):
    """Bad input. The message is one line: the argument (or file and line), the rule, the value.

    A ``ValueError`` for those who call functions from Python. Where `MALFORMED` or ``ValueError``
    is caught around code that raises it, let it pass first: it already says what is wrong.
    """


@contextlib.contextmanager
def well_formed(message: str) -> Iterator[None]:
    """Has what is not of the expected form inside (see `MALFORMED`) end in ``message``.

    >>> with well_formed("x.json: damaged"):
    ...     {}["name"]
    Traceback (most recent call last):
    fairseq_xling.core.errors.UserError: x.json: damaged
    """
    try:
        yield
    except UserError:
        raise
    except MALFORMED:
        raise UserError(message) from None


def one_line(error: BaseException) -> str:
    """The single line that a command prints for ``error``.

    >>> one_line(UserError("`--alpha` must lie in [0, 1], got 2"))
    'fairseq-xling: error: `--alpha` must lie in [0, 1], got 2'
    """
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        # What copies a file names both, the source first.
        output = error.filename2 or error.filename or "output"
        text = f"no space left on device while writing {output}"
        text += "; free some space and run the same command again, finished parts are kept"
    elif isinstance(error, MemoryError):
        text = f"not enough memory ({error})"
    elif isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = str(error)
    if len(text) > _MOST:
        text = f"{text[: _MOST * 3 // 4]} ... {text[-_MOST // 4 :]}"
    return _PREFIX + visible(" ".join(text.split()))


# What tells a terminal to do something, or to show text in another order than it has.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text from a file as a terminal may be given it: what would control it is escaped.

    >>> print(visible("a\\x1b[31mb\\x07 c"))
    a\\x1b[31mb\\x07 c
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Has an error of a file system that is full name ``path``; a failed write names no file.

    NumPy's own error does not even say why it wrote less than it should.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = str(path)
        elif error.errno is None and " requested and " in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise


def program_error(said: object) -> UserError:
    """The error in the line with which one of the programs ends, or in its ``SystemExit``.

    >>> program_error(SystemExit("fairseq-xling: error: `--lr` must be above 0, got -1"))
    UserError('`--lr` must be above 0, got -1')
    """
    return UserError(str(said).removeprefix(_PREFIX))


@contextlib.contextmanager
def about(*names: object, from_file: bool = False) -> Iterator[None]:
    """Has errors inside begin with ``names``: options in backticks, or files.

    For a reader that knows where a value comes from, around code that does not. What names an
    option or one of the files already is left as it is.

    Args:
        from_file: ``names`` are files whose settings stand for options, so that an option alone
            would send the reader to the command line.

    >>> with about("`--order`"):
    ...     raise UserError("unknown kind 'x'; known: y")
    Traceback (most recent call last):
    fairseq_xling.core.errors.UserError: `--order`: unknown kind 'x'; known: y
    """
    shown = [str(name) for name in names]
    try:
        yield
    except (UserError, SystemExit) as error:
        program = isinstance(error, SystemExit)  # fairseq's, which our line ends
        text = str(error).removeprefix(_PREFIX) if program else str(error)
        if (program and not str(error).startswith(_PREFIX)) or named(text, shown, not from_file):
            raise
        text = f"{' and '.join(shown)}: {text}"
        raise (SystemExit(_PREFIX + text) if program else UserError(text)) from error


@contextlib.contextmanager
def about_file(args: Any) -> Iterator[None]:
    """Has an error begin with ``args.config``, if the first option that it names is set there.

    Args:
        args: a command's; ``file_fields`` are the fields that the file sets, once it is read.
    """
    try:
        yield
    except UserError as error:
        name = re.search(r"`--([\w-]+)", str(error))
        if name is None or name[1].replace("-", "_") not in getattr(args, "file_fields", ()):
            raise
        with about(args.config, from_file=True):
            raise


def named(text: str, names: Iterable[str] = (), options: bool = True) -> bool:
    """Whether a message names one of ``names`` or, with ``options``, any option.

    >>> named("`--lr` must be above 0"), named("a.txt:3: no word", ["a.txt"]), named("no word")
    (True, True, False)
    """
    return (options and "`--" in text.replace(OWN, "")) or any(name in text for name in names)


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
    explained = f"{message}{' ' if message.endswith('?') else '; '}`{program} --help` explains"
    return one_line(UserError(broken_rule(message) or explained))


def shown(value: Any, most: int = 40) -> str:
    """A value from outside for a message, on one line and not too long.

    However large it is, only what is shown of it is formatted.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    >>> shown({"text": ["a", 1]})
    "{'text': ['a', 1]}"
    """
    text = ""
    for piece in _pieces(value, most):
        text += piece
        if len(text) > most:
            return text[: most - 3] + "..."
    return text


def _pieces(value: Any, most: int) -> Iterator[str]:
    if isinstance(value, str):
        part = value[:most]
        yield repr(part) if part.isprintable() else ascii(part)
        if len(part) < len(value):
            yield "..."
    elif isinstance(value, bytes | bytearray):
        yield repr(value[:most])
    elif isinstance(value, dict):
        yield "{"
        for number, (key, one) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _pieces(key, most)
            yield ": "
            yield from _pieces(one, most)
        yield "}"
    elif isinstance(value, list | tuple):
        yield "[" if isinstance(value, list) else "("
        for number, one in enumerate(value):
            yield ", " if number else ""
            yield from _pieces(one, most)
        yield "]" if isinstance(value, list) else ",)" if len(value) == 1 else ")"
    elif isinstance(value, int) and value.bit_length() > 4 * most:
        yield f"a number of {value.bit_length()} bits"  # Python refuses to format the largest
    else:
        yield " ".join(repr(value).split())  # an array's has several lines


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
