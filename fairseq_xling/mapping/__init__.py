"""Maps between vector spaces: tensors and numpy only, nothing of fairseq.

Rows are vectors, and maps are applied from the right, ``x @ W``, in all of these:

>>> import torch
>>> from fairseq_xling.mapping import fit_rows, procrustes
>>> x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
>>> w = procrustes(x, x.flip(1))
>>> torch.allclose(x @ w, x.flip(1), atol=1e-6)
True

The functions have the names of their modules, so they are bound here, once.
"""

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
