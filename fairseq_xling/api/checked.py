"""Arguments of the API, checked before anything is computed with them."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

# What is not about arrays is checked below this room, too.
from fairseq_xling.arguments import choice as choice
from fairseq_xling.arguments import count as count
from fairseq_xling.arguments import lines as lines
from fairseq_xling.arguments import number as number
from fairseq_xling.errors import UserError


def matrix(name: str, value: Any, least: int = 1, width: int | None = None) -> Tensor:
    """Vectors in rows, (N, D), as a tensor.

    Float32 and float64 are kept, half precision and whole numbers become float32 and float64.

    Args:
        name: of the argument, for messages.
        least: the smallest number of rows.
        width: D, if only one will do.

    Raises:
        UserError: unless it is a matrix of finite numbers with enough rows.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise UserError(f"`{name}` must be an array of numbers, got dtype {array.dtype}")
    if array.ndim != 2:
        raise UserError(f"`{name}` must have 2 dimensions (rows, width), got {array.ndim}")
    if len(array) < least or not array.shape[1]:
        raise UserError(
            f"`{name}` must have at least {least} rows of width 1 or more, got shape {array.shape}"
        )
    if width not in (None, array.shape[1]):
        raise UserError(f"`{name}` must be {width} wide, got {array.shape[1]}")
    wide = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    array = np.array(array, dtype=wide)  # a copy: torch warns of arrays that cannot be written
    finite = np.isfinite(array).all(1)
    if not finite.all():
        raise UserError(f"`{name}` must be finite, got NaN or infinity in row {finite.argmin()}")
    return torch.from_numpy(array)


def matrices(
    x: Any, y: Any, *, paired: bool = False, least: int = 1, names: tuple[str, str] = ("x", "y")
) -> tuple[Tensor, Tensor]:
    """Two arguments as `matrix`, of one dtype.

    Args:
        paired: row n of both belongs together.
        names: of the arguments, for messages.

    Raises:
        UserError: as `matrix`, and if paired sides differ in length.
    """
    first, second = matrix(names[0], x, least), matrix(names[1], y, least)
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
