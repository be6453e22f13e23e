"""Arguments of functions called from Python, and values of JSON, checked before they are used.

Each check returns the value, or raises a UserError of one line: its name, the rule, the value.
Those of JSON begin with ``where`` it is.
"""

import dataclasses
import math
import numbers
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.ranges import ANY, WORDS, Range
from fairseq_xling.core.registry import unknown_name

_NO_LISTS = (bytes, bytearray, set, frozenset, Mapping)
_SAID = {dict: "an object", list: "a list", str: "a text", **WORDS}
_KINDS = {int: numbers.Integral, float: numbers.Real}


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if not _is_number(value, int) or value < least:
        raise UserError(f"`{name}` must be a whole number of at least {least}, got {shown(value)}")
    return int(value)


def names_in(text: str) -> list[str]:
    """What is separated by commas.

    >>> names_in("cdlm, mlm")
    ['cdlm', 'mlm']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def number(name: str, value: Any, kind: type = float, range: Range = ANY) -> Any:
    """A number of ``range``, as a Python number of ``kind``, int or float."""
    if not _is_number(value, kind):
        raise UserError(f"`{name}` must be {WORDS[kind]}, got {shown(value)}")
    try:
        found = kind(value)
    except OverflowError:  # a whole number too large for a float
        raise UserError(f"`{name}` must be finite, got {shown(value)}") from None
    return range.check(name, found)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise UserError(f"`{name}` must be True or False, got {shown(value)}")
    return value


def text(name: str, value: Any) -> str:
    """One string."""
    if not isinstance(value, str):
        raise UserError(f"`{name}` must be a string, got {shown(value)}")
    return value


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of the strings ``known``."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise unknown_name(f"`{name}`", value, names)
    return value


def path(name: str, value: Any) -> Path:
    """A path, which need not exist.

    Raises:
        UserError: for what is none.
    """
    try:
        return Path(value)
    except TypeError:
        raise UserError(f"`{name}` must be a path, got {shown(value)}") from None


def lines(name: str, value: Any) -> list[str]:
    """Texts, one string each.

    Raises:
        UserError: for a single string, or anything in it that is none.
    """
    return list(each_line(name, value))


def each_line(name: str, value: Any) -> Iterator[str]:
    """The same one by one, so that they can come from a stream; each is checked when it is read."""
    if isinstance(value, str):
        raise UserError(f"`{name}` must be a list of strings, got one string; put it into a list")
    try:
        # What has no order, and what has other parts than texts, is not read by mistake.
        rest = None if isinstance(value, _NO_LISTS) else iter(value)
    except TypeError:
        rest = None
    if rest is None:
        raise UserError(f"`{name}` must be a list of strings, got {shown(value)}")
    return _strings(name, rest)


def option(config: type, name: str, value: Any) -> Any:
    """A value for the field ``name`` of the dataclass ``config``, of its type and in its range.

    omegaconf takes "yes" for true and "3" for a number, and its errors have several lines.

    Raises:
        UserError: for a value of another type, or out of the field's range.
    """
    (field,) = (one for one in dataclasses.fields(config) if one.name == name)
    hint = typing.get_type_hints(config)[name]
    kinds = typing.get_args(hint) if typing.get_origin(hint) is typing.Union else (hint,)
    if value is None and type(None) in kinds:
        return None
    if bool in kinds:
        return flag(name, value)
    if str in kinds:
        return str(value) if isinstance(value, PurePath) else text(name, value)
    for kind in _KINDS:
        if kind in kinds:
            return number(name, value, kind, field.metadata.get("range", ANY))
    return value


def _is_number(value: Any, kind: type) -> bool:
    return isinstance(value, _KINDS[kind]) and not isinstance(value, bool)


def _strings(name: str, rest: Iterator[Any]) -> Iterator[str]:
    for index, one in enumerate(rest):
        if not isinstance(one, str):
            raise UserError(f"`{name}` must be strings, got {shown(one)} at index {index}")
        yield one


def get_value(where: str, values: Any, key: str, kind: type) -> Any:
    """``values[key]``, which must be of that kind: dict, list, str or int.

    >>> get_value("a.json: paragraph 1", {"context": "It rains."}, "context", str)
    'It rains.'
    """
    if not isinstance(values, dict):
        raise UserError(f"{where}: must be an object, got {shown(values)}")
    if key not in values:
        raise UserError(f"{where}: has no `{key}`")
    return check_kind(where, values[key], f"`{key}`", kind)


def check_type(where: object, value: Any, name: str, kind: type) -> Any:
    """``value``, which must be of that kind: dict, list, str, int or float, which is finite."""
    fits = isinstance(value, int | float if kind is float else kind)
    if not fits or isinstance(value, bool) or (kind is float and not math.isfinite(value)):
        raise UserError(f"{where}: {name} must be {_SAID[kind]}, got {shown(value)}")
    return value


def check_kind(where: str, value: Any, name: str, kind: type) -> Any:
    """As `check_type`; a text must contain more than white space, and no half characters."""
    check_type(where, value, name, kind)
    if kind is str:
        if not value.strip():
            raise UserError(f"{where}: {name} is empty")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            # JSON's escapes can encode such halves; a UTF-8 file cannot contain them.
            raise UserError(f"{where}: {name} contains half a surrogate pair, got {shown(value)}")
    return value


def check_count(where: object, value: Any, name: str, least: int = 0) -> int:
    """``value``, which must be a whole number of at least ``least``.

    >>> check_count("meta.json", 3, "rows")
    3
    """
    try:
        return count(name, value, least)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def check_columns(columns: Sequence[str], name: str) -> None:
    """Reject `--columns`, which such a file does not have."""
    if columns:
        raise UserError(f"`--columns` must be empty for {name} files, got {', '.join(columns)}")
