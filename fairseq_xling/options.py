"""Options declared as the fields of a dataclass: default, help, range and choices in one place.

A method or a study declares what it can be told; whoever has a command line or a file makes its
options from the declaration. A field's type is that of its default: text, a whole number, a number,
true or false, or a tuple of texts.
"""

import argparse
import dataclasses
from typing import Any, TypeVar

from fairseq_xling.errors import UserError
from fairseq_xling.ranges import ANY, Number, Range, option_name
from fairseq_xling.registry import unknown_name

Config = TypeVar("Config")
_METAVARS = {int: "N", float: "X", str: "TEXT"}


def option(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    range: Range = ANY,
    choices: tuple[str, ...] = (),
    reads: bool = False,
) -> Any:
    """A field with help; ``range`` holds the numbers allowed, or ``least`` the smallest of them,
    ``choices`` all texts allowed; one that ``reads`` names files or folders."""
    numbers = range if least is None else Range(least)
    return dataclasses.field(
        default=default,
        metadata={"help": help, "range": numbers, "choices": choices, "reads": reads},
    )


def reads(default: Any, help: str) -> Any:
    """An `option` that names files or folders to read."""
    return option(default, help, reads=True)


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of a variant that has none."""


def add_fields(parser: argparse._ActionsContainer, config: type) -> None:
    """An option for each field of ``config``, with its default and its range."""
    for field in dataclasses.fields(config):
        kind = type(field.default)
        how: dict[str, Any] = {"default": field.default}
        if kind is bool:
            how = {"action": argparse.BooleanOptionalAction if field.default else "store_true"}
        else:
            how["metavar"] = _METAVARS[kind]
            if kind is not str:
                how["type"] = Number(kind, field.metadata["range"])
        parser.add_argument(f"--{option_name(field.name)}", help=field.metadata["help"], **how)


def values_of(config: type[Config], args: argparse.Namespace) -> Config:
    """The options of ``config`` among ``args``.

    Raises:
        UserError: for a text that is none of its field's choices.
    """
    fields = dataclasses.fields(config)  # type: ignore[arg-type]
    return config(**{field.name: chosen(field, getattr(args, field.name)) for field in fields})


def chosen(field: dataclasses.Field, value: Any) -> Any:
    """``value``, if it is one of the field's choices or there are none.

    Raises:
        UserError: otherwise.
    """
    choices = field.metadata["choices"]
    if choices and value not in choices:
        name = option_name(field.name)
        raise UserError(f"`--{name}`: {unknown_name('value', value, list(choices))}")
    return value
