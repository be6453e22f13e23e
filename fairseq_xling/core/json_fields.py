"""Checks of JSON objects: each broken rule is one line that says where."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import count
from fairseq_xling.core.bounds import check_bound
from fairseq_xling.core.errors import UserError, shown


def decode_json(
    path: str | Path,
    text: str,
    line: int = 1,
    made: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """The JSON value in ``text``, which begins at that line of the file ``path``.

    Args:
        made: makes an object of its keys and values, instead of ``dict``.
    """
    # Each value but the first follows one of these; some of them may be in a text.
    check_bound("values", sum(map(text.count, ",[{")), f"{path}:{line}")
    try:
        return json.loads(text, object_pairs_hook=made)
    except json.JSONDecodeError as error:
        place = f"{path}:{line + error.lineno - 1}"
        raise UserError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, deep nesting
        raise UserError(f"{path}:{line}: not JSON that can be read ({error})") from None


_NAMES = {
    **{dict: "an object", list: "a list", str: "a text"},
    **{int: "a whole number", float: "a number"},
}


def parse_json(path: str | Path, text: str, line: int = 1) -> Any:
    """The JSON value in ``text``, which begins at that line of the file."""
    return decode_json(path, text, line, _object)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # json would silently keep the last
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {shown(twice)} occurs twice in one object")
    return found


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
        raise UserError(f"{where}: {name} must be {_NAMES[kind]}, got {shown(value)}")
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
