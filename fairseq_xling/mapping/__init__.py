"""Maps between vector spaces: only tensors and numpy, independent of fairseq.

Rows are vectors, and maps are applied from the right, ``x @ W``, in all of these:

>>> import torch
>>> from fairseq_xling.mapping import fit_rows, procrustes
>>> x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
>>> w = procrustes(x, x.flip(1))
>>> torch.allclose(x @ w, x.flip(1), atol=1e-6)
True

Torch is imported with the first of them, not before, so that commands that only list methods start
quickly.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairseq_xling.mapping.csls import csls_neighbours
    from fairseq_xling.mapping.fit import fit_rows
    from fairseq_xling.mapping.fitted import FittedMap, LayerMap, Side, read_map, write_map
    from fairseq_xling.mapping.least_squares import least_squares
    from fairseq_xling.mapping.meeting import Meeting, meet
    from fairseq_xling.mapping.normalize import normalize
    from fairseq_xling.mapping.procrustes import nearest_orthogonal, orthogonality_error, procrustes

__all__ = [
    "FittedMap",
    "LayerMap",
    "Meeting",
    "Side",
    "csls_neighbours",
    "fit_rows",
    "least_squares",
    "meet",
    "nearest_orthogonal",
    "normalize",
    "orthogonality_error",
    "procrustes",
    "read_map",
    "write_map",
]

_HOMES = {
    "csls": ["csls_neighbours"],
    "fit": ["fit_rows"],
    "fitted": ["FittedMap", "LayerMap", "Side", "read_map", "write_map"],
    "least_squares": ["least_squares"],
    "meeting": ["Meeting", "meet"],
    "normalize": ["normalize"],
    "procrustes": ["nearest_orthogonal", "orthogonality_error", "procrustes"],
}


class _Package(ModuleType):
    """This package. Some functions have the names of their modules, which Python binds here when it
    imports them; the functions take precedence."""


def _lazy(home: str, name: str) -> property:
    def get(package: ModuleType) -> Any:
        return getattr(importlib.import_module(f"{__name__}.{home}"), name)

    def set_(package: ModuleType, value: Any) -> None:
        if not isinstance(value, ModuleType):
            raise AttributeError(f"{__name__}.{name} cannot be replaced")

    return property(get, set_)


for _home, _names in _HOMES.items():
    for _name in _names:
        setattr(_Package, _name, _lazy(_home, _name))
sys.modules[__name__].__class__ = _Package
