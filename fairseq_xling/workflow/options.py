"""Settings of a run: a dataclass whose values come from a YAML file and the command line.

Every field is made by `core.options.option`. The command line takes precedence over the file, the
file over a preset, a preset over the defaults.
"""

import argparse
import dataclasses
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import yaml

from fairseq_xling.core.errors import UserError, about_file, shown
from fairseq_xling.core.files import read_plain
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.named_files import YAML, Argument, Input, OutputFolder, check_outputs
from fairseq_xling.core.options import (
    check_needs,
    chosen,
    option,
    parse_numbers,
    parse_seeds,
    split_words,
)
from fairseq_xling.core.ranges import WORDS, option_name, parsed
from fairseq_xling.core.registry import unknown_name


class _Texts(yaml.SafeLoader):
    """YAML of texts, lists and mappings; a key must not stand twice: the last would win.

    YAML 1.1 reads ``1:30`` as 90, ``010`` as 8, ``no`` as false and ``2024-01-02`` as a date. Here
    what a value means is decided by the option that it is for; only an empty value, ``~`` or
    ``null`` is none.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}
    yaml_constructors = {
        tag: made
        for tag, made in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in ("null", "str", "seq", "map")
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{shown(key.value)} is given twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Texts.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"(~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)


__all__ = ["parse_numbers", "parse_seeds", "split_words"]  # of fairseq_xling.core.options
Config = TypeVar("Config")
_WORDS = {**WORDS, bool: "true or false"}
# What is for whoever starts the run, and no value of a file may name: options that choose code
# (fairseq has tasks that start a program which another option names, processes that are joined to
# one training send each other pickled objects, a launcher's file may have lines of shell), or write
# elsewhere than into the run's folder. Our verbs know an option by the start of its name.
_REFUSED = re.compile(
    r"--user-dir|--task(?![\w-])|--distributed-init-method|--lau[\w-]*|--o(?:u[\w-]*)?(?![\w-])|"
    r"--save-dir|--results-path|--log-file|--tensorboard-logdir|--source-vectors"
)
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def jobs_option() -> Any:
    """The field ``jobs`` of a run's settings."""
    return option(1, "steps that run at the same time", least=1)


def seeds_option(default: str, help: str = "seeds of training") -> Any:
    """The field ``seeds`` of a run's settings."""
    return option(default, help)


class WithSeeds:
    """Of settings with a field ``seeds``."""

    seeds: str

    @property
    def seed_list(self) -> list[int]:
        return parse_seeds("--seeds", self.seeds)


class WithLanguages:
    """Of settings with a field ``languages``."""

    languages: str

    @property
    def language_list(self) -> list[str]:
        return parse_languages(self.languages)


def add_options(parser: argparse.ArgumentParser, config: type, file_option: bool = True) -> None:
    """An option for each field of ``config``, none with a default here, and ``--config``."""
    if file_option:
        parser.add_argument(
            "--config",
            metavar=YAML,
            help="file with values for the options below; the command line takes precedence",
        )
    for field in dataclasses.fields(config):
        default, kind = field.default, {}
        text = "; ".join(filter(None, (field.metadata["help"], field.metadata["range"].note)))
        if default not in ("", ()):
            text += f" (default: {str(default).lower() if isinstance(default, bool) else default})"
        if isinstance(default, tuple):
            kind = {"action": "append"}
        elif isinstance(default, bool):
            kind = {"nargs": "?", "const": "true"}
        if field.metadata["reads"]:
            kind["metavar"] = field.metadata["reads"](field.name.upper())
        parser.add_argument(
            f"--{option_name(field.name)}",
            default=argparse.SUPPRESS,
            help=text.replace("%", "%%"),
            **kind,
        )


def load_config(
    config: type[Config],
    args: argparse.Namespace,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
) -> Config:
    """The values of ``args``, of the file ``args.config``, of the one of ``presets`` that a field
    ``preset`` names, and the defaults."""
    known = {field.name: field for field in dataclasses.fields(config)}  # type: ignore[arg-type]
    given = {name: value for name, value in vars(args).items() if name in known}
    read = read_yaml(args.config, list(known)) if args.config else {}
    args.file_fields = read.keys() - given.keys()
    with about_file(args):
        values = {**read, **given}
        if chosen := str(values.get("preset") or ""):
            if chosen not in (presets or {}):
                raise unknown_name("`--preset`", chosen, sorted(presets or {}))
            values = {**presets[chosen], **values}  # type: ignore[index]
        values = {n: _checked(known[n], v) for n, v in values.items() if v is not None}
        if getattr(args, "output", None) is not None:  # against what the file names, too
            arguments: list[Argument] = [("--output", OutputFolder(), str(args.output))]
            for name in (name for name in known if known[name].metadata["reads"]):
                value = values.get(name, ())
                for text in value if isinstance(value, tuple) else (value,):
                    arguments.append((f"--{option_name(name)}", Input(), text))
            check_outputs(arguments)
        made = config(**values)
        check_needs(made)
        return made


def read_yaml(path: str, known: list[str]) -> dict[str, Any]:
    """The ``option: value`` lines of a file, by field; one that is not among ``known``, or chooses
    code or where something is written, is refused."""
    text = read_plain(path, "yaml")
    try:
        found = _Texts(text).get_single_data() or {}
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML ({error})") from None
    except RecursionError:
        raise UserError(f"{path}: not YAML that can be read (too deeply nested)") from None
    except Exception as error:  # of what YAML describes but Python lacks
        raise UserError(f"{path}: not YAML that can be read ({error})") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: must contain `option: value` lines, got {shown(found)}")
    values: dict[str, Any] = {}
    for spelt, value in found.items():
        name = (spelt if isinstance(spelt, str) else shown(spelt)).replace("-", "_")
        if name not in known:
            raise UserError(f"{path}: {unknown_name('option', name, known)}")
        if name in values:
            raise UserError(f"{path}: `{option_name(name)}` is given twice")
        # Values refer to each other in YAML, so a short file can describe more than fits anywhere.
        if isinstance(value, list) and not all(isinstance(one, str) for one in value):
            raise UserError(
                f"{path}: `{option_name(name)}` must be a value or a list of values, got "
                f"{shown(value)}"
            )
        # A value that contains several options is split as a shell does it: quotes are taken away.
        if refused := _REFUSED.search(re.sub(r"[\"'\\]", "", str(value))):
            raise UserError(
                f"{path}: `{option_name(name)}` must not name a `{refused[0]}`; give it on the "
                "command line"
            )
        values[name] = value
    return values


def _checked(field: dataclasses.Field, value: Any) -> Any:
    value = _convert(field, value)
    if isinstance(value, int | float):
        field.metadata["range"].check(f"--{option_name(field.name)}", value)
    return chosen(field, value)


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
        return parsed(kind, value) if kind in WORDS and isinstance(value, str) else kind(value)
    except (TypeError, ValueError, KeyError):
        words = _WORDS.get(kind, "one value")
        raise UserError(
            f"`--{option_name(field.name)}` must be {words}, got {shown(value)}"
        ) from None
