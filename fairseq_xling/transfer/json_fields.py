"""Checks of JSON objects: each broken rule is one line that says where."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError

_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}


def parse_json(path: str | Path, text: str, line: int = 1) -> Any:
    """The JSON value in ``text``, which begins at that line of the file.

    Raises:
        UserError: if it is not JSON, or an object has a key twice; names file and line.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}"
        raise UserError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, deep nesting
        raise UserError(f"{path}:{line}: not JSON that can be read ({error})") from None


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # json would silently keep the last
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(twice)} occurs twice in one object")
    return found


def get_value(where: str, values: Any, key: str, kind: type) -> Any:
    """``values[key]``, which must be of that kind: dict, list, str or int.

    Raises:
        UserError: for anything else; begins with ``where``.

    >>> get_value("a.json: paragraph 1", {"context": "It rains."}, "context", str)
    'It rains.'
    """
    if not isinstance(values, dict):
        raise UserError(f"{where}: must be an object, got {shown(values)}")
    if key not in values:
        raise UserError(f"{where}: has no `{key}`")
    return check_kind(where, values[key], f"`{key}`", kind)


def check_kind(where: str, value: Any, name: str, kind: type) -> Any:
    """``value``, which must be of that kind; a text must contain more than white space.

    Raises:
        UserError: for anything else; begins with ``where``.
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        raise UserError(f"{where}: {name} must be {_NAMES[kind]}, got {shown(value)}")
    if kind is str:
        if not value.strip():
            raise UserError(f"{where}: {name} is empty")
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            # JSON's escapes can encode such halves; a UTF-8 file cannot contain them.
            raise UserError(f"{where}: {name} contains half a surrogate pair, got {shown(value)}")
    return value


def check_columns(columns: Sequence[str], name: str) -> None:
    """Reject `--columns`, which such a file does not have."""
    if columns:
        raise UserError(f"`--columns` must be empty for {name} files, got {', '.join(columns)}")


def shown(value: Any) -> str:
    """A value for a message, on one line and not too long.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
