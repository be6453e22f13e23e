"""One declaration of an option: a field of a frozen dataclass, made by `option`.

A field says everything of an option: its default, its help, the numbers, texts or list that it may
be, and what else must be given with it. From this come its argument (`add_fields`) and its value
(`values_of`) on a command line, its key in a YAML file (`fairseq_xling.workflow.options`), the one
line of a value that breaks the rule, its place in the documentation, and the words that hand it to
another command (`to_argv`). `dataclasses.asdict` of the object is what a step's digest takes.

A field's type is that of its default, or where that is None, or there is none, its annotation's:
text, a whole number, a number, true or false, or a tuple of texts. An option that several commands
have is declared once, at the end of this module, and called where its place in the help is::

    @dataclasses.dataclass(frozen=True)
    class Options:
        checkpoint: str = argument("model file", CHECKPOINT)
        data: str = option(REQUIRED, "the model's data folder", metavar=DATA)
        device: str = device()
"""

import argparse
import dataclasses
import math
import shlex
import types
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.named_files import CHECKPOINT, DATA, FILE, Input
from fairseq_xling.core.ranges import (
    ANY,
    COUNT,
    SEED,
    SEEDS,
    Number,
    Range,
    check_bound,
    option_name,
    parsed,
)
from fairseq_xling.core.registry import unknown_name

Config = TypeVar("Config")
REQUIRED = dataclasses.MISSING  # instead of a default
_METAVARS = {int: "N", float: "X", str: "TEXT"}


@dataclasses.dataclass(frozen=True)
class Items:
    """What a text with commas is a list of; called with an option's name and text, it is the list.

    Args:
        kind: of each item: int, float, or str.
        range: of each number; without one they are above 0.
    """

    kind: type = str
    range: Range | None = None

    def __call__(self, option: str, text: str) -> list[Any]:
        if self.kind is str:
            return [item.strip() for item in text.split(",") if item.strip()]
        if self.range is SEEDS:
            return parse_seeds(option, text)
        values = parse_numbers(option, text, self.kind)
        return [(self.range or ANY).check(option, value) for value in values]


SEED_LIST = Items(int, SEEDS)


def option(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    range: Range = ANY,
    choices: Sequence[str] = (),
    usage: bool = False,
    items: Items | None = None,
    needs: str = "",
    one_of: str = "",
    reads: type[Input] | None = None,
    metavar: Any = None,
    words: int | str | None = None,
    group: str = "",
    positional: bool = False,
    flag: str = "",
) -> Any:
    """A field of a dataclass that is an option.

    Args:
        default: REQUIRED for an option that must be given.
        least: the smallest number allowed, if that is all of its ``range``.
        choices: all texts allowed; with ``usage`` help shows them instead of a metavar, and another
            one is bad usage.
        items: of a text with commas, which `items_of` splits.
        needs: another option, or one with its value, without which this one must not be given, as
            "text" or "method fasttext".
        one_of: a name that several fields have of which exactly one must be given.
        reads: the kind of files or folders that it names (where no ``metavar`` says it).
        metavar: as argparse's; of `fairseq_xling.core.named_files` for files and folders.
        words: of a tuple, how many words it takes, "+" for any; without it, it is repeatable.
        group: heading of the help under which it stands.
        positional: whether its place names it.
        flag: its name on a command line, if that is not the field's.
    """
    if usage and metavar is None:
        metavar = ()
    metadata = {
        "help": help,
        "range": range if least is None else Range(least),
        "choices": tuple(choices),
        "usage": usage,
        "items": items,
        "needs": needs,
        "one_of": one_of,
        "reads": type(metavar) if isinstance(metavar, Input) else reads,
        "metavar": metavar,
        "words": words,
        "group": group,
        "positional": positional,
        "flag": flag,
    }
    return dataclasses.field(default=default, metadata=metadata, kw_only=default is REQUIRED)


def argument(help: str, metavar: Any, **more: Any) -> Any:
    """A required `option` that is named by its place."""
    return option(REQUIRED, help, metavar=metavar, positional=True, **more)


def reads(default: Any, help: str, kind: type[Input] = Input) -> Any:
    """An `option` that names files or folders to read, of a ``kind`` of `named_files`."""
    return option(default, help, reads=kind)


def like(config: type, name: str, default: Any = None, help: str = "") -> Any:
    """The option ``name`` of ``config``, which has its rule from there; with a default or a help of
    its own where they are given.

    >>> @dataclasses.dataclass
    ... class Example:
    ...     layers: int = option(4, "depth", least=1)
    >>> @dataclasses.dataclass
    ... class Other:
    ...     layers: int = like(Example, "layers", 12)
    >>> Other()
    Other(layers=12)
    """
    field = config.__dataclass_fields__[name]
    metadata = {**field.metadata, **({"help": help} if help else {})}
    return dataclasses.field(
        default=field.default if default is None else default, metadata=metadata
    )


@dataclasses.dataclass(frozen=True)
class NoOptions:
    """The options of a variant that has none."""


def kind_of(config: type, field: dataclasses.Field) -> type:
    """The type of a field's value: int, float, bool, str or tuple.

    >>> @dataclasses.dataclass
    ... class Example:
    ...     layer: int | None = option(None, "a layer")
    >>> kind_of(Example, dataclasses.fields(Example)[0])
    <class 'int'>
    """
    if field.default is not None and field.default is not REQUIRED:
        return type(field.default)
    hint = typing.get_type_hints(config)[field.name]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(one for one in typing.get_args(hint) if one is not type(None))
    return typing.get_origin(hint) or hint


def _flag(field: dataclasses.Field) -> str:
    return f"--{field.metadata.get('flag') or option_name(field.name)}"


def add_fields(parser: Any, config: type) -> None:
    """An option of ``parser``, or of a group of its, for each field of ``config``."""
    groups: dict[str, Any] = {"": parser}
    for field in dataclasses.fields(config):
        how = field.metadata
        if how["group"] not in groups:
            groups[how["group"]] = parser.add_argument_group(how["group"])
        target = groups[how["group"]]
        if how["one_of"]:
            key = f"one of {how['one_of']}"
            if key not in groups:
                groups[key] = target.add_mutually_exclusive_group(required=True)
            target = groups[key]
        said = _argument(kind_of(config, field), field)
        if how["positional"]:
            target.add_argument(field.name, **said)
        else:
            target.add_argument(_flag(field), dest=field.name, **said)


def _argument(kind: type, field: dataclasses.Field) -> dict[str, Any]:
    """How argparse declares a field."""
    how = field.metadata
    said: dict[str, Any] = {"help": how["help"].replace("%", "%%"), "default": field.default}
    if field.default is REQUIRED:
        del said["default"]
        if not how["positional"]:
            said["required"] = not how["one_of"]
    if kind is bool:
        action = argparse.BooleanOptionalAction if field.default else "store_true"
        return {"help": said["help"], "action": action, "default": field.default}
    if kind is tuple:
        said |= {"nargs": how["words"]} if how["words"] else {"action": "append"}
        if field.default == ():
            said["default"] = []
    elif kind is not str:
        said["type"] = SEED if how["range"] is SEEDS else Number(kind, how["range"])
    if how["usage"]:
        said["choices"] = how["choices"]
    if how["metavar"] != ():
        said["metavar"] = how["metavar"] or _METAVARS.get(kind, "TEXT")
    return said


def values_of(config: type[Config], args: argparse.Namespace) -> Config:
    """The options of ``config`` among ``args``.

    Raises:
        UserError: for a text that is none of its field's choices, a list that its field does not
            allow, or an option without another one that it needs.
    """
    values = {}
    for field in dataclasses.fields(config):  # type: ignore[arg-type]
        value = getattr(args, field.name)
        values[field.name] = chosen(field, tuple(value) if isinstance(value, list) else value)
    made = config(**values)
    check_needs(made)
    return made


def chosen(field: dataclasses.Field, value: Any) -> Any:
    """``value``, if the field's choices and items allow it."""
    flag, choices, items = _flag(field), *map(field.metadata.get, ("choices", "items"))
    if choices and value not in choices and value is not None:
        raise UserError(f"`{flag}`: {unknown_name('value', value, list(choices))}")
    if items and value is not None and value != field.default:
        items(flag, value)
    return value


def check_needs(config: Any) -> None:
    """Hold the fields of ``config`` to what they need."""
    for field in dataclasses.fields(config):
        name, _, value = field.metadata.get("needs", "").partition(" ")
        if name and getattr(config, field.name) != field.default:
            other = getattr(config, name.replace("-", "_"))
            if (str(other) != value) if value else not other:
                needs = f"`--{field.metadata['needs']}`"
                raise UserError(f"`{_flag(field)}` needs {needs}")


def items_of(config: Any, name: str) -> list[Any]:
    """The list in the text of the field ``name``; none where it is empty by default.

    Raises:
        UserError: if its field does not allow it.
    """
    text, field = getattr(config, name), type(config).__dataclass_fields__[name]
    if text == field.default == "":
        return []
    return field.metadata["items"](_flag(field), text)


def part_of(config: type[Config], options: Any, **given: Any) -> Config:
    """``config`` with the values that ``options`` has by its fields' names, and those ``given``."""
    names = {field.name for field in dataclasses.fields(config)} - given.keys()  # type: ignore[arg-type]
    return config(**{n: getattr(options, n) for n in names if hasattr(options, n)}, **given)


def to_argv(config: Any, *names: str) -> list[str]:
    """The fields of ``config`` that differ from their defaults, or those of ``names`` in any case,
    as the words of a command that has the same declaration.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Example:
    ...     data: str = argument("data folder", "DATA")
    ...     k: int = option(10, "neighbours")
    ...     swap: bool = option(False, "in reverse")
    >>> to_argv(Example(data="d", swap=True)), to_argv(Example(data="d"), "k")
    (['d', '--swap'], ['--k', '10'])
    """
    words, places = [], []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.name not in names if names else value == field.default:
            continue
        flag, several = _flag(field), field.metadata["words"]
        if field.metadata["positional"]:
            places += list(map(str, value)) if isinstance(value, tuple) else [str(value)]
        elif isinstance(value, bool):
            words.append(flag if value else flag.replace("--", "--no-", 1))
        elif isinstance(value, tuple):
            texts = list(map(str, value))
            words += [flag, *texts] if several else [w for text in texts for w in (flag, text)]
        elif value is not None:
            words += [flag, str(value)]
    return [*places, *words]


def parse_seeds(option: str, text: str) -> list[int]:
    """Seeds separated by commas.

    >>> parse_seeds("--seeds", "1,2")
    [1, 2]
    """
    pieces = _pieces(option, text)
    try:
        seeds = [parsed(int, seed) for seed in pieces]
    except ValueError:
        raise UserError(f"`{option}` must be whole numbers, got {shown(text)}") from None
    if len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise UserError(f"`{option}` must be different and not negative, got {shown(text)}")
    return [SEEDS.check(option, seed) for seed in seeds]


def parse_numbers(option: str, text: str, kind: type = float) -> list[Any]:
    """Numbers above 0, separated by commas.

    >>> parse_numbers("--lrs", "1e-3,2e-3")
    [0.001, 0.002]
    """
    pieces = _pieces(option, text)
    try:
        values = [parsed(kind, piece) for piece in pieces]
    except ValueError:
        values = []
    wrong = not all(0 < value < math.inf for value in values)
    if not values or wrong or len(set(values)) < len(values):
        what = "different whole numbers" if kind is int else "different numbers"
        raise UserError(f"`{option}` must be {what} above 0, got {shown(text)}")
    return [ANY.check(option, value) for value in values]


def _pieces(option: str, text: str) -> list[str]:
    pieces = text.split(",")
    check_bound("list", len(pieces), f"`{option}`")
    return pieces


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


# Options that several commands have.


def checkpoint() -> Any:
    """``checkpoint``, by its place: a model."""
    return argument("model file", CHECKPOINT)


def data(help: str = "the model's data folder", default: Any = REQUIRED) -> Any:
    """``--data``: where a model's data folder is."""
    return option(default, help, metavar=DATA)


def data_of_model(model: str = "model") -> Any:
    """``--data``, where the folder that it was trained with is known."""
    return data(f"the {model}'s data folder (default: the one that it was trained with)", None)


def moved_data(model: str = "model") -> Any:
    """``--data``, where a model without it would not be found."""
    return data(f"the {model}'s data folder, if it has moved", None)


def lang() -> Any:
    """``--lang``, of ``--text``."""
    return option(REQUIRED, "language of the text", metavar="LANG")


def text(**more: Any) -> Any:
    """``--text``, required unless ``more`` says otherwise."""
    given = {"default": REQUIRED, **more}
    return option(help="UTF-8 text, a sentence per line, also .gz", metavar=FILE, **given)


def output(help: str, metavar: Any) -> Any:
    """``--output``, a file or a folder to write, required."""
    return option(REQUIRED, help, metavar=metavar)


def columns() -> Any:
    """``--columns``, of a file of tags."""
    return option("", "of a tagged file, such as token=0,tag=1", metavar="COLUMNS")


def offsets() -> Any:
    """``--offsets``, wherever spans are read."""
    return option("tokens", "unit of spans", choices=("tokens", "characters"), usage=True)


def device() -> Any:
    """``--device``, where something is computed."""
    return option("cpu", "cpu, cuda or cuda:N", metavar="DEVICE")


def max_tokens(metavar: str = "MAX_TOKENS") -> Any:
    """``--max-tokens``, of a batch of sentences that an encoder reads."""
    return option(8192, "maximum padded tokens per batch", range=COUNT, metavar=metavar)


def seed(default: int = 1, help: str = "random seed", metavar: str = "N") -> Any:
    """``--seed``, and others of the same range."""
    return option(default, help, range=SEEDS, metavar=metavar)


def random_direction() -> Any:
    """``--random-direction``, the control of every shift by a mean difference."""
    return option(
        None,
        "a control: shift in a random direction instead, as far as the mean difference, with this "
        "seed",
        range=SEEDS,
        metavar="SEED",
    )


def neighbours() -> Any:
    """``--k``, of CSLS."""
    return option(10, "neighbours that CSLS averages over", range=COUNT, metavar="K")
