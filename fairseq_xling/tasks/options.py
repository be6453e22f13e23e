"""Settings of a head, given as one text.

Most determine training. Those marked by `at_test` can be changed later: they concern reading,
decoding and counting.
"""

import dataclasses
from typing import Any

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import ANY, Range
from fairseq_xling.core.registry import unknown_name


def setting(default: Any, range: Range = ANY, choices: tuple[str, ...] = ()) -> Any:
    """A field that determines training; ``range`` and ``choices`` as in `core.options`."""
    about = {"range": range, "choices": choices}
    return dataclasses.field(default=default, metadata=about)


def at_test(default: Any, range: Range = ANY, choices: tuple[str, ...] = ()) -> Any:
    """A field whose value can be changed for a trained model."""
    about = {"range": range, "choices": choices, "at_test": True}
    return dataclasses.field(default=default, metadata=about)


@dataclasses.dataclass(frozen=True)
class HeadOptions:
    """Base class of a head's settings; a UserError for the first that breaks its rule."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value, place = getattr(self, field.name), f"`--head-options`: {field.name}"
            choices, range = field.metadata["choices"], field.metadata["range"]
            if choices and value not in choices:
                raise UserError(f"{place} must be {' or '.join(choices)}, got {value!r}")
            if not isinstance(value, str) and value not in range:
                raise UserError(f"{place} {range.rule}, got {value}")


def parse_options(text: str, kind: type) -> Any:
    """A dataclass ``kind`` from ``name=value`` items separated by commas.

    >>> @dataclasses.dataclass
    ... class Sizes:
    ...     width: int = 4
    ...     rate: float = at_test(0.5)
    >>> parse_options("width=8", Sizes)
    Sizes(width=8, rate=0.5)
    """
    return kind(**_values(text, kind))


def change_options(text: str, trained: Any) -> Any:
    """The settings of a trained head, with those in ``text`` replaced.

    >>> @dataclasses.dataclass
    ... class Sizes:
    ...     width: int = 4
    ...     rate: float = at_test(0.5)
    >>> change_options("rate=0", Sizes(width=8))
    Sizes(width=8, rate=0.0)
    """
    values = _values(text, type(trained))
    free = [field.name for field in dataclasses.fields(trained) if field.metadata.get("at_test")]
    for name in values:
        if name not in free:
            known = ", ".join(free) or "none of this head's"
            raise UserError(
                "`--head-options` of a trained model must be among those for reading and counting "
                f"({known}), got {name!r}"
            )
    return dataclasses.replace(trained, **values)


def _values(text: str, kind: type) -> dict[str, Any]:
    fields = {field.name: field.type for field in dataclasses.fields(kind)}
    values = {}
    for piece in _pieces(text, fields):
        name, _, value = piece.partition("=")
        if name not in fields:
            raise UserError(f"`--head-options`: {unknown_name('setting', name, list(fields))}")
        if name in values:
            raise UserError(f"`--head-options` must name {name!r} once, got it twice")
        try:
            values[name] = fields[name](value)
        except ValueError:
            raise UserError(
                f"`--head-options`: {name} must be of type {fields[name].__name__}, got {value!r}"
            ) from None
    return values


def _pieces(text: str, fields: dict[str, type]) -> list[str]:
    """The ``name=value`` items: what has no ``=`` after a setting of type str belongs to its value.

    >>> _pieces("tags=a,b, width=3", {"tags": str, "width": int})
    ['tags=a,b', 'width=3']
    """
    pieces: list[str] = []
    for piece in names_in(text):
        if pieces and "=" not in piece and fields.get(pieces[-1].partition("=")[0]) is str:
            pieces[-1] += f",{piece}"
        else:
            pieces.append(piece)
    return pieces
