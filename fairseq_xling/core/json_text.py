"""JSON that is read from outside: bounded, and each mistake one line with its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairseq_xling.core.bounds import check_bound
from fairseq_xling.core.errors import UserError


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
