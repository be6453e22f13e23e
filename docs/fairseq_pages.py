"""Reference pages of the tasks, architectures and criterions that the plug-in adds to fairseq."""

import argparse
import dataclasses
import re
import sys
from collections.abc import Mapping
from typing import Any

from verb_pages import cell, paragraphs

import fairseq_xling.plugin  # noqa: F401  (first: fairseq is imported with its quirks mended)

HOW = "Options of `fairseq-train --user-dir $(fairseq-xling user-dir)"


def fairseq_pages() -> dict[str, str]:
    """By path, the three pages."""
    from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
    from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY

    return {
        "reference/tasks.md": _page(
            "Tasks", f"{HOW} --task NAME`.", TASK_REGISTRY, TASK_DATACLASS_REGISTRY
        ),
        "reference/architectures.md": _architectures(),
        "reference/criterions.md": _page(
            "Criterions",
            f"{HOW} --criterion NAME`.",
            CRITERION_REGISTRY,
            CRITERION_DATACLASS_REGISTRY,
        ),
    }


def _ours(registry: Mapping[str, type]) -> dict[str, type]:
    return {
        name: entry
        for name, entry in sorted(registry.items())
        if entry.__module__.startswith("fairseq_xling.")
    }


def _page(title: str, lead: str, registry: Mapping[str, type], configs: Mapping[str, type]) -> str:
    parts = [f"# {title}", lead]
    for name, entry in _ours(registry).items():
        parts += [f"## `{name}`", _about(entry), _options(configs[name])]
    return "\n\n".join(parts) + "\n"


def _about(entry: type) -> str:
    """What the module of a class says about it, without the line that names its option."""
    text = (sys.modules[entry.__module__].__doc__ or "").strip()
    text = re.sub(r"\A`--[\w-]+ [\w-]+`: ", "", text)
    return "\n\n".join(paragraphs(text[:1].upper() + text[1:]))


def _options(config: type) -> str:
    rows = []
    for field in dataclasses.fields(config):
        if field.name.startswith("_"):
            continue
        help_ = field.metadata.get("help") or ""
        if choices := _choices(field):
            help_ += f"; one of {', '.join(choices)}"
        option = field.name if _positional(field) else "--" + field.name.replace("_", "-")
        rows.append(f"| `{option}` | {cell(help_)} | {_default(field)} |")
    if not rows:
        return "No options."
    return "| Option | Meaning | Default |\n|---|---|---|\n" + "\n".join(rows)


def _positional(field: dataclasses.Field) -> bool:
    return field.metadata.get("help") is not None and field.name == "data"


def _choices(field: dataclasses.Field) -> list[str]:
    values = getattr(field.type, "__members__", None)
    return [str(member.value) for member in values.values()] if values else []


def _default(field: dataclasses.Field) -> str:
    value = field.default
    if value is dataclasses.MISSING:
        value = None
        if field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
    if value is None or value == "" or value == "???":
        return ""
    if from_group := re.fullmatch(r"\$\{(.+)\}", str(value)):
        return f"fairseq's `{from_group[1]}`"
    return f"`{getattr(value, 'value', value)}`"


def _architectures() -> str:
    from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

    about = "An architecture is a model with preset values of these options."
    parts = ["# Architectures", f"{HOW} --arch NAME`. {about}"]
    for model, entry in _ours(MODEL_REGISTRY).items():
        parts += [f"## `{model}`", _about(entry)]
        named = {
            name: _values(name)
            for name, of in sorted(ARCH_MODEL_NAME_REGISTRY.items())
            if of == model and name != model
        }
        if named:
            parts.append(_table_of_values(named))
        parts.append(_options(MODEL_DATACLASS_REGISTRY[model]))
    return "\n\n".join(parts) + "\n"


def _values(architecture: str) -> dict[str, Any]:
    """What an architecture sets, by option."""
    from fairseq.models import ARCH_CONFIG_REGISTRY

    args = argparse.Namespace()
    ARCH_CONFIG_REGISTRY[architecture](args)
    return vars(args)


def _table_of_values(named: Mapping[str, Mapping[str, Any]]) -> str:
    options = list(dict.fromkeys(option for values in named.values() for option in values))
    head = "| | " + " | ".join(f"`{name}`" for name in named) + " |"
    lines = [head, "|---|" + "---|" * len(named)]
    for option in options:
        values = (str(values.get(option, "")) for values in named.values())
        lines.append(f"| `--{option.replace('_', '-')}` | " + " | ".join(values) + " |")
    return "\n".join(lines)
