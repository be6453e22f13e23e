"""Arguments of the API, checked before anything is computed with them."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

# What is not about arrays is checked below this room, too.
from fairseq_xling.core.arguments import choice as choice
from fairseq_xling.core.arguments import count as count
from fairseq_xling.core.arguments import lines as lines
from fairseq_xling.core.arguments import number as number
from fairseq_xling.core.arguments import path as path
from fairseq_xling.core.arguments import text as text
from fairseq_xling.core.errors import UserError, shown


def array(name: str, value: Any) -> np.ndarray:
    """What numpy makes of it; of a tensor its values, wherever it is and whatever was recorded.

    Raises:
        UserError: for rows of several lengths, masked values, and what else numpy refuses.
    """
    parts = value if isinstance(value, list | tuple) else [value]
    if masked := sum(
        int(np.ma.getmaskarray(part).sum()) for part in parts if np.ma.is_masked(part)
    ):
        raise UserError(f"`{name}` must have no masked values, got {masked}")
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        value = value.float() if value.dtype == torch.bfloat16 else value  # numpy has none
    try:
        return np.asarray(value)
    except (RuntimeError, TypeError, ValueError):
        raise UserError(f"`{name}` must be an array of numbers, got {shown(value)}") from None


def matrix(
    name: str, value: Any, least: int = 1, width: int | None = None, double: bool = False
) -> Tensor:
    """Vectors in rows, (N, D), as a tensor.

    Float32 and float64 are kept, half precision and whole numbers become float32 and float64.

    Args:
        name: of the argument, for messages.
        least: the smallest number of rows.
        width: D, if only one will do.
        double: whether all that is computed with it is computed in double precision.

    Raises:
        UserError: unless it is a matrix of finite numbers, with finite squares, and enough rows.
    """
    rows = array(name, value)
    if rows.dtype.kind not in "fiub":
        raise UserError(f"`{name}` must be an array of numbers, got dtype {rows.dtype}")
    if rows.ndim != 2:
        raise UserError(f"`{name}` must have 2 dimensions (rows, width), got {rows.ndim}")
    if len(rows) < least or not rows.shape[1]:
        raise UserError(
            f"`{name}` must have at least {least} rows of width 1 or more, got shape {rows.shape}"
        )
    if width not in (None, rows.shape[1]):
        raise UserError(f"`{name}` must be {width} wide, got {rows.shape[1]}")
    wide = np.float32 if rows.dtype in (np.float16, np.float32) else np.float64
    rows = np.array(rows, dtype=wide)  # a copy: torch warns of arrays that cannot be written
    finite = np.isfinite(rows).all(1)
    if not finite.all():
        raise UserError(f"`{name}` must be finite, got NaN or infinity in row {finite.argmin()}")
    # Lengths that overflow are infinite, and such rows would have cosine 0 with everything. So far
    # below that, the squared differences of all rows together have a finite sum, too.
    computed = np.dtype(np.float64 if double else wide)
    largest = np.maximum(rows.max(1), -rows.min(1))
    if float(largest.max()) > math.sqrt(float(np.finfo(computed).max) / (4 * rows.size)):
        raise UserError(
            f"`{name}` must have values whose squares are finite in {computed}, got "
            f"{largest.max():.3g} in row {largest.argmax()}"
        )
    return torch.from_numpy(rows)


def matrices(
    x: Any,
    y: Any,
    *,
    paired: bool = False,
    least: int = 1,
    names: tuple[str, str] = ("x", "y"),
    double: bool = False,
) -> tuple[Tensor, Tensor]:
    """Two arguments as `matrix`, of one dtype.

    Args:
        paired: row n of both belongs together.
        least, double: as of `matrix`.
        names: of the arguments, for messages.

    Raises:
        UserError: as `matrix`, and if paired sides differ in length.
    """
    first, second = (
        matrix(name, side, least, double=double) for name, side in zip(names, (x, y), strict=True)
    )
    if paired and len(first) != len(second):
        what = " and ".join(f"`{name}`" for name in names)
        raise UserError(f"{what} must have equally many rows, got {len(first)} and {len(second)}")
    dtype = torch.promote_types(first.dtype, second.dtype)
    return first.to(dtype), second.to(dtype)


def same_width(x: Tensor, y: Tensor) -> None:
    """Nothing, if rows of both are equally wide.

    Raises:
        UserError: otherwise.
    """
    if x.shape[1] != y.shape[1]:
        raise UserError(f"`x` and `y` must be equally wide, got {x.shape[1]} and {y.shape[1]}")
