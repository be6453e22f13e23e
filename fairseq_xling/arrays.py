"""NumPy arrays in files, mapped into memory and checked before anything relies on them."""

from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError

_KINDS = {"f": "floats", "i": "whole numbers"}


def mapped(path: Path, kind: str, shape: tuple[int | None, ...], remedy: str) -> np.ndarray:
    """The array in ``path``, of which nothing is read yet; nothing in the file can run.

    Args:
        kind: ``f`` for floats, ``i`` for whole numbers.
        shape: its shape, None where any size will do.
        remedy: what to do where the file is missing or wrong, for the message.

    Raises:
        UserError: if the file is missing, damaged, or of another kind or shape.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file; {remedy}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):  # several in an archive, .npz
            raise TypeError
    except Exception:  # NumPy reads the header as Python, which ends in as many ways
        raise UserError(f"{path}: damaged or not a numpy array; {remedy}") from None
    fits = array.ndim == len(shape) and all(
        size in (None, found) for size, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind.replace("u", "i") != kind:
        wanted = str(shape).replace("None", "any")
        raise UserError(
            f"{path}: must be {_KINDS[kind]} of shape {wanted}, got {array.dtype} of shape "
            f"{array.shape}; {remedy}"
        )
    if path.stat().st_size != array.offset + array.nbytes:  # else each value may be out of place
        raise UserError(f"{path}: must end with its last value, got more; {remedy}")
    return array
