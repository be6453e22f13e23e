"""Modules that moved between versions: their old names are found, with a warning, for one version.

Of what a user could have imported: what the documentation showed, and the folders of registries.
"""

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

# Moved after 0.2.0; a name covers everything below it, and the first that fits counts.
MOVED = {
    "analysis.comparisons": "verbs.comparisons",
    "analysis.measures": "verbs.measures",
    "analysis.nearest": "mapping.nearest",
    "analysis.probing": "tasks.probing",
    "analysis.units": "verbs.units",
    "clcr.matching": "papers.clcr.modules.transform",
    "clcr.order": "models.ordering",
    "clcr.rows": "papers.clcr.sequence_variants",
    "clcr.search": "models.ordering.search",
    "clcr.transforms": "papers.clcr.modules.transform",
    "clcr": "papers.clcr",
    "objectives.base": "data.example",
    "runs.config_file": "runs.options",
    "runs.figures": "results.figures",
    "runs.plots": "results.plots",
    "runs.provenance": "provenance",
    "runs.report": "results.report",
    "runs.tables": "results.tables",
    "tagging.adversaries": "models.tagging.adversaries",
    "tagging.outputs": "models.tagging.outputs",
    "tagging": "tasks.tagging",
    "text.progress": "progress",
    "text.synthetic": "corpus",
    "transfer": "tasks",
}
_PACKAGE = __package__


def new_name(name: str) -> str | None:
    """Where the module ``name`` is now; None if it has not moved.

    >>> new_name("fairseq_xling.transfer.heads.pos"), new_name("fairseq_xling.mapping")
    ('fairseq_xling.tasks.heads.pos', None)
    """
    for old, new in MOVED.items():
        if f"{name}.".startswith(f"{_PACKAGE}.{old}."):
            return f"{_PACKAGE}.{new}{name.removeprefix(f'{_PACKAGE}.{old}')}"
    return None


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = new_name(fullname) if fullname.startswith(f"{_PACKAGE}.") else None
        return None if new is None else spec_from_loader(fullname, _Loader(new))


class _Loader(Loader):
    """Stands for the module at its new place, which keeps its own name."""

    def __init__(self, new: str):
        self._new = new

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._new)
        self._own = module.__spec__
        warnings.warn(
            f"{spec.name} is now {self._new}; the old name goes with the next version",
            FutureWarning,
            stacklevel=2,
        )
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own


def find_moved() -> None:
    """Have old names found; once in a process."""
    sys.meta_path.insert(0, _Finder())
