"""The reference page of every registry: what variants an axis has, and where a new one goes."""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator

from verb_pages import cell

import fairseq_xling
from fairseq_xling.core.registry import Registry

LEAD = """# Registries

This page lists everything that can be selected by name. Each entry is a class or a function that
is registered under a name, and you can add your own: [Your own components](../how-to/extend.md)
and [Your own ordering](../how-to/ordering.md) have examples, and all other registries work in the
same way. If a name is unknown, the error message suggests similar names."""


def registry_pages() -> dict[str, str]:
    """By path, the page."""
    parts = [LEAD]
    for module, name, registry in sorted(registries(), key=lambda found: found[0]):
        about = {entry: _about(registry[entry]) for entry in registry}
        rows = [f"| `{entry}` | {cell(text)} |" for entry, text in about.items()]
        kind = registry.kind[:1].upper() + registry.kind[1:]
        parts += [
            f"## {kind} {{ #{module.split('.', 1)[1].replace('.', '-')}-{name.lower()} }}",
            f"`{module}.{name}`",
            "| Name | What it is |\n|---|---|\n" + "\n".join(rows)
            if any(about.values())
            else "Names: " + ", ".join(f"`{entry}`" for entry in about),
        ]
    return {"reference/registries.md": "\n\n".join(parts) + "\n"}


def registries() -> Iterator[tuple[str, str, Registry]]:
    """Every registry of the package: the module that defines it, its name there, itself."""
    for found in pkgutil.walk_packages(fairseq_xling.__path__, "fairseq_xling."):
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, Registry) and _defined_in(module, name):
                yield found.name, name, value


def _defined_in(module, name: str) -> bool:
    return bool(re.search(rf"^{name}\b[^=\n]*= Registry\(", inspect.getsource(module), re.M))


def _about(entry: object) -> str:
    """The first sentence of what an entry says of itself, or of what its module says."""
    if not (inspect.isclass(entry) or inspect.isroutine(entry)):
        return ""  # a value: its class would say the same of all of them
    if getattr(entry, "__name__", "") == "<lambda>":
        return ""
    own = inspect.cleandoc(
        entry.__dict__.get("__doc__") or "" if inspect.isclass(entry) else entry.__doc__ or ""
    )
    if not own or own.startswith(("See the module", entry.__name__ + "(")):
        own = sys.modules[entry.__module__].__doc__ or ""
    paragraph = " ".join(own.split("\n\n")[0].split())
    return re.split(r"(?<=[a-z)`0-9])[.;] ", paragraph)[0].rstrip(".")
