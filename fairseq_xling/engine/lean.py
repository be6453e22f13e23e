"""fairseq's first import without metrics of tasks that are not ours."""

import contextlib
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_LATE = ("sklearn", "sklearn.metrics", "scipy.stats")


def lean_engine() -> None:
    """Have fairseq imported without scikit-learn and scipy's statistics, if it was not yet.

    They take a third of the processor time until a verb begins. fairseq's modules get functions
    that import them when they are called.
    """
    if "fairseq" not in sys.modules and _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def _find_spec(name: str, path: Any = None, target: Any = None) -> Any:
    """Waits for fairseq, and is gone when it is imported."""
    spec = importlib.machinery.PathFinder.find_spec(name) if name == "fairseq" else None
    if spec is not None and spec.loader is not None:
        execute = spec.loader.exec_module

        def lean(module: types.ModuleType) -> None:
            sys.meta_path.remove(_FINDER)
            with _late():
                execute(module)

        spec.loader.exec_module = lean  # type: ignore[method-assign]
    return spec


_FINDER: Any = types.SimpleNamespace(find_spec=_find_spec)


@contextlib.contextmanager
def _late() -> Iterator[None]:
    """Inside, modules of `_LATE` that are not imported yet have functions alone."""
    made = {name: types.ModuleType(name) for name in _LATE if name not in sys.modules}
    for name, module in made.items():
        module.__getattr__ = _function_of(name)  # type: ignore[method-assign]
        parent, _, own = name.rpartition(".")
        if parent in made:
            setattr(made[parent], own, module)
    sys.modules.update(made)
    try:
        yield
    finally:
        for name in made:
            del sys.modules[name]


def _function_of(module: str) -> Callable[[str], Callable[..., Any]]:
    def get(name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: getattr(importlib.import_module(module), name)(
            *args, **kwargs
        )

    return get
