"""Settings of a run: a dataclass whose values come from a YAML file and the command line.

Every field is made by `option`, with one sentence of help; its type is that of its default: text,
a whole number, a number, true or false, or a tuple of texts. The command line takes precedence over
the file, the file over a preset, a preset over the defaults.
"""

import argparse
import dataclasses
import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import yaml

from fairseq_xling.errors import UserError
from fairseq_xling.files import read_lines
from fairseq_xling.registry import unknown_name
from fairseq_xling.seeds import check_seed

Config = TypeVar("Config")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def option(
    default: Any, help: str, *, least: float | None = None, choices: tuple[str, ...] = ()
) -> Any:
    """A field with help; ``least`` is the smallest number and ``choices`` all texts allowed."""
    metadata = {"help": help, "least": least, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def option_name(field: str) -> str:
    """How a field is spelt on the command line and in files.

    >>> option_name("max_tokens")
    'max-tokens'
    """
    return field.replace("_", "-")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """``--output`` and ``--dry-run``, which every study has."""
    parser.add_argument("--output", required=True, metavar="DIR", help="folder of the run")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")


def add_options(parser: argparse.ArgumentParser, config: type, file_option: bool = True) -> None:
    """An option for each field of ``config``, none with a default here, and ``--config``."""
    if file_option:
        parser.add_argument(
            "--config",
            metavar="YAML",
            help="file with values for the options below; the command line takes precedence",
        )
    for field, text in describe_fields(config):
        kind: dict[str, Any] = {}
        if isinstance(field.default, tuple):
            kind = {"action": "append"}
        elif isinstance(field.default, bool):
            kind = {"nargs": "?", "const": "true"}
        parser.add_argument(
            f"--{option_name(field.name)}", default=argparse.SUPPRESS, help=text, **kind
        )


def describe_fields(config: type) -> Iterator[tuple[dataclasses.Field, str]]:
    """Every field with its help text and its default."""
    for field in dataclasses.fields(config):
        default = field.default
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        end = f" (default: {shown})" if default not in ("", ()) else ""
        yield field, (field.metadata["help"] + end).replace("%", "%%")


def load_config(
    config: type[Config],
    args: argparse.Namespace,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> Config:
    """The values of ``args``, of the file ``args.config``, of the named preset, and the defaults.

    Args:
        presets: values by name; a field ``preset`` of ``config`` chooses one of them.

    Raises:
        UserError: for an unknown key, or a value that breaks its field's rule.
    """
    known = {field.name: field for field in dataclasses.fields(config)}  # type: ignore[arg-type]
    values = read_yaml(args.config, list(known)) if args.config else {}
    values |= {name: value for name, value in vars(args).items() if name in known}
    if chosen := str(values.get("preset") or ""):
        if chosen not in (presets or {}):
            raise unknown_name("preset", chosen, sorted(presets or {}))
        values = {**presets[chosen], **values}  # type: ignore[index]
    return config(**{n: _checked(known[n], v) for n, v in values.items() if v is not None})


def read_yaml(path: str, known: list[str]) -> dict[str, Any]:
    """The ``option: value`` lines of a file, by field.

    Raises:
        UserError: if it is missing, is not YAML, has a key that is not among ``known``, or names
            code that would be imported.
    """
    try:
        values = yaml.safe_load("\n".join(read_lines(path))) or {}
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({error})") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: must contain `option: value` lines, got {values!r}")
    values = {str(name).replace("-", "_"): value for name, value in values.items()}
    for name in values:
        if name not in known:
            raise UserError(f"{path}: {unknown_name('option', name, known)}")
        if isinstance(values[name], str) and "--user-dir" in values[name]:
            # A folder of code that is imported is chosen by whoever starts the run.
            raise UserError(
                f"{path}: `{name}` must not name a `--user-dir`; give it on the command line"
            )
    return values


def parse_seeds(option: str, text: str) -> list[int]:
    """Seeds separated by commas.

    >>> parse_seeds("--seeds", "1,2")
    [1, 2]

    Raises:
        UserError: unless they are different seeds (see `fairseq_xling.seeds`).
    """
    try:
        seeds = [int(seed) for seed in text.split(",")]
    except ValueError:
        raise UserError(f"`{option}` must be whole numbers, got {text!r}") from None
    if len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise UserError(f"`{option}` must be different and not negative, got {text!r}")
    return [check_seed(option, seed) for seed in seeds]


def split_words(option: str, text: str) -> tuple[str, ...]:
    """The words of an option that contains several as one text, quoted as in a shell.

    >>> split_words("--train-args", "--lr 0.1 --note 'a b'")
    ('--lr', '0.1', '--note', 'a b')

    Raises:
        UserError: for an unclosed quotation.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UserError(f"`{option}`: {error}, got {text!r}") from None


def _checked(field: dataclasses.Field, value: Any) -> Any:
    value = _convert(field, value)
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"`--{option_name(field.name)}` must be finite, got {value}")
    least, choices = field.metadata["least"], field.metadata["choices"]
    if least is not None and not value >= least:
        raise UserError(f"`--{option_name(field.name)}` must be at least {least}, got {value}")
    if choices and value not in choices:
        raise UserError(
            f"`--{option_name(field.name)}`: {unknown_name('value', value, list(choices))}"
        )
    return value


def _convert(field: dataclasses.Field, value: Any) -> Any:
    kind = type(field.default)
    if kind is tuple:
        return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)
    if kind is str and isinstance(value, list):
        return ",".join(map(str, value))
    try:
        if isinstance(value, dict | list):
            raise TypeError
        if kind is bool:
            return _TRUTH[str(value).lower()]
        if kind is int and (isinstance(value, bool) or (isinstance(value, float) and value % 1)):
            raise TypeError
        return kind(value)
    except (TypeError, ValueError, KeyError):
        words = _WORDS.get(kind, "one value")
        raise UserError(f"`--{option_name(field.name)}` must be {words}, got {value!r}") from None
