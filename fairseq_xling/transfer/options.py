"""Settings of a head, given as one text."""

import dataclasses
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.registry import unknown_name


def parse_options(option: str, text: str, kind: type) -> Any:
    """A dataclass ``kind`` from ``name=value`` items separated by commas.

    >>> @dataclasses.dataclass
    ... class Sizes:
    ...     width: int = 4
    ...     rate: float = 0.5
    >>> parse_options("--head-options", "width=8", Sizes)
    Sizes(width=8, rate=0.5)

    Raises:
        UserError: for a name that is not there or stands twice, or a value of another type.
    """
    fields = {field.name: field.type for field in dataclasses.fields(kind)}
    values = {}
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = piece.partition("=")
        if name not in fields:
            raise UserError(f"`{option}`: {unknown_name('setting', name, list(fields))}")
        if name in values:
            raise UserError(f"`{option}` must name {name!r} once, got it twice")
        try:
            values[name] = fields[name](value)
        except ValueError:
            raise UserError(
                f"`{option}`: {name} must be of type {fields[name].__name__}, got {value!r}"
            ) from None
    return kind(**values)
