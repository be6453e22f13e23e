import io

import numpy as np
import pytest

from fairseq_xling.core.array_file import mapped
from fairseq_xling.core.errors import UserError


def test_an_array_is_mapped_where_kind_and_shape_fit(tmp_path):
    path, array = tmp_path / "x.npy", np.arange(6, dtype="uint16").reshape(3, 2)
    np.save(path, array)
    for shape in ((3, 2), (None, 2), (None, None)):
        np.testing.assert_array_equal(mapped(path, "i", shape, "write it again"), array)


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.zeros((3, 2)), "float64 of shape (3, 2)"),
        (np.zeros((3, 3), int), "int64 of shape (3, 3)"),
        (np.zeros((3, 2, 1), int), "int64 of shape (3, 2, 1)"),
        (np.zeros((), int), "int64 of shape ()"),
        (np.zeros((3, 2), complex), "complex128 of shape (3, 2)"),
        (np.full((3, 2), "x"), "<U1 of shape (3, 2)"),
    ],
)
def test_another_kind_or_shape_is_refused(tmp_path, array, got):
    path = tmp_path / "x.npy"
    np.save(path, array)
    with pytest.raises(UserError) as error:
        mapped(path, "i", (None, 2), "write it again")
    assert str(error.value) == (
        f"{path}: must be whole numbers of shape (any, 2), got {got}; write it again"
    )


def written(save, what) -> bytes:
    file = io.BytesIO()
    save(file, what)
    return file.getvalue()


NO_ARRAY = "damaged or not a numpy array; write it again"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "no such file; write it again"),
        (b"", NO_ARRAY),
        (b"text", NO_ARRAY),
        (b"\x93NUMPY\x01\x00\x0a\x00{'descr': 1}", NO_ARRAY),
        (written(np.savez, np.zeros(3, int)), NO_ARRAY),
        (written(np.save, np.array([{}], object)), NO_ARRAY),  # which is not unpickled
        (written(np.save, np.zeros(3, int)) + b"abc", "must end with its last value, got more; wr"),
    ],
)
def test_what_is_no_array_is_refused(tmp_path, data, message):
    path = tmp_path / "x.npy"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError, match=f"x.npy: {message}"):
        mapped(path, "i", (None,), "write it again")
