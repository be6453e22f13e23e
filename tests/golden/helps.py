"""Goldens of what `--help` says, and of the options that fairseq's programs take from us."""

import argparse
import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from fairseq_xling.command_line import build_parser, verbs
from fairseq_xling.engine.lean import lean_engine
from tests.golden.text import block, normalise

_WIDTH = {"COLUMNS": "100"}


def _parsers(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield name, parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield from _parsers(f"{name} {word}", inner)


def _verb(name: str) -> str:
    with mock.patch.dict(os.environ, _WIDTH):
        whole = build_parser([name])
        (commands,) = (a for a in whole._actions if isinstance(a, argparse._SubParsersAction))
        lines = [
            line
            for title, text in _parsers(name, commands.choices[name])
            for line in block(title, text)
        ]
    return normalise("\n".join(lines))


def _all_verbs() -> str:
    with mock.patch.dict(os.environ, _WIDTH):
        return normalise(build_parser([]).format_help())


def _registries() -> dict[str, Any]:
    lean_engine()
    from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
    from fairseq.models import MODEL_DATACLASS_REGISTRY
    from fairseq.tasks import TASK_DATACLASS_REGISTRY

    import fairseq_xling.plugin  # noqa: F401

    return {
        "task": TASK_DATACLASS_REGISTRY,
        "model": MODEL_DATACLASS_REGISTRY,
        "criterion": CRITERION_DATACLASS_REGISTRY,
    }


def _shown(value: Any) -> str:
    return "" if value is dataclasses.MISSING else repr(value)


def _option(field: dataclasses.Field, action: argparse.Action | None) -> str:
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    choices = getattr(action, "choices", None)
    cells = {
        "default": _shown(default),
        "choices": _shown(sorted(map(str, choices))) if choices else "",
        "help": str(field.metadata.get("help", "")),
        "words": " ".join(action.option_strings) if action else "",
        "number": str(action.nargs) if action and action.nargs is not None else "",
    }
    return "; ".join([field.name, *(f"{name} {cell}" for name, cell in cells.items() if cell)])


def _engine_options() -> str:
    """Every option of our tasks, models and criterions, a line each."""
    lines: list[str] = []
    registries = _registries()
    from fairseq.dataclass.utils import gen_parser_from_dataclass

    for kind, registry in registries.items():
        for owner, config in sorted(registry.items()):
            if config is None or not config.__module__.startswith("fairseq_xling."):
                continue
            parser = argparse.ArgumentParser(add_help=False)
            gen_parser_from_dataclass(parser, config(), delete_default=False)
            actions = {action.dest: action for action in parser._actions}
            lines.append(f"== {kind} {owner}")
            # In any order: a field that moves into a base is the same option.
            lines += sorted(_option(f, actions.get(f.name)) for f in dataclasses.fields(config))
            lines.append("")
    return normalise("\n".join(lines))


def _architectures() -> str:
    """The values that each of our architectures sets."""
    registries = _registries()
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_NAME_REGISTRY

    lines: list[str] = []
    for name, model in sorted(ARCH_MODEL_NAME_REGISTRY.items()):
        config = registries["model"].get(model)
        if config is None or not config.__module__.startswith("fairseq_xling."):
            continue
        values = argparse.Namespace()
        if name in ARCH_CONFIG_REGISTRY:
            ARCH_CONFIG_REGISTRY[name](values)
        lines.append(f"== {name}: {model}")
        lines += [f"{key} {value!r}" for key, value in sorted(vars(values).items())]
        lines.append("")
    return "\n".join(lines)


def goldens() -> dict[str, Callable[[], str]]:
    """Each golden's name and what makes it."""
    made: dict[str, Callable[[], str]] = {"help/verbs": _all_verbs}
    for name in verbs():
        made[f"help/{name}"] = lambda name=name: _verb(name)
    return {**made, "help/engine": _engine_options, "help/architectures": _architectures}
