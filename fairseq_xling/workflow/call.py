"""A Python function of a recipe as the command of a step:

    python -m fairseq_xling.workflow.call MODULE:FUNCTION NAME=VALUE ...

A value is JSON, or else text. NAME[]=VALUE is one of a list, NAME.KEY=VALUE one of a dictionary.
"""

import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.engine.extensions import load_plugins


def command(function: Callable[..., None], values: Mapping[str, Any]) -> list[str]:
    """The words that call ``function`` with ``values``."""
    words = ["python", "-m", __name__, f"{function.__module__}:{function.__name__}"]
    for name, value in values.items():
        for key, each in _flat(name, value):
            if isinstance(each, Path):  # with a mark of a path, by which it is known as an input
                each = str(each) if "/" in str(each) else f"./{each}"
            plain = isinstance(each, str) and not _is_json(each)
            words.append(f"{key}={each if plain else json.dumps(each)}")
    return words


def _flat(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        return [one for key, each in value.items() for one in _flat(f"{name}.{key}", each)]
    if isinstance(value, list | tuple) and value:
        return [(f"{name}[]", each) for each in value]
    return [(name, value)]


def arguments(given: Sequence[str]) -> dict[str, Any]:
    """The values in the words of a `command`.

    >>> arguments(["a=1", "b=x.txt", "c[]=1", "c[]=2", "d.en[]=y"])
    {'a': 1, 'b': 'x.txt', 'c': [1, 2], 'd': {'en': ['y']}}
    """
    found: dict[str, Any] = {}
    for word in given:
        key, _, text = word.partition("=")
        value = json.loads(text) if _is_json(text) else text
        *outer, last = key.removesuffix("[]").split(".")
        inside = found
        for name in outer:
            inside = inside.setdefault(name, {})
        if key.endswith("[]"):
            inside.setdefault(last, []).append(value)
        else:
            inside[last] = value
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@exits_on_user_error
def main(where: str, *given: str) -> None:
    """Call the function ``where``."""
    load_plugins()
    module, _, name = where.partition(":")
    getattr(importlib.import_module(module), name)(**arguments(given))


if __name__ == "__main__":
    main(*sys.argv[1:])
