import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors


@pytest.fixture
def vectors():
    return Vectors(
        np.arange(12, dtype=np.float32).reshape(4, 3),
        np.array([0, 5, 2, 1]),
        symbols=["<s>", "▁Häuser", "s", '"'],
        dictionaries={"de": "ab12"},
        settings={"dim": 3, "languages": ["de"]},
        map=np.eye(3, dtype=np.float32),
    )


def test_what_was_written_is_read_again(vectors, tmp_path):
    write_vectors(tmp_path / "v.safetensors", vectors)
    found = read_vectors(tmp_path / "v.safetensors")
    for name in ("vectors", "counts", "map"):
        np.testing.assert_array_equal(getattr(found, name), getattr(vectors, name))
    assert found.symbols == vectors.symbols
    assert (found.dictionaries, found.settings) == (vectors.dictionaries, vectors.settings)


def test_symbols_and_map_may_be_unknown(tmp_path):
    write_vectors(tmp_path / "v", Vectors(np.ones((2, 1), np.float32), np.array([1, 1])))
    found = read_vectors(tmp_path / "v")
    assert (found.symbols, found.map) == (None, None)


def test_equal_vectors_give_equal_bytes_in_every_process(vectors, tmp_path):
    write_vectors(tmp_path / "here", vectors)
    code = (
        "import sys; from fairseq_xling.mapping.vectors_file import *;"
        "write_vectors(sys.argv[2], read_vectors(sys.argv[1]))"
    )
    for seed in "12":
        there = tmp_path / f"there{seed}"
        arguments = [sys.executable, "-c", code, str(tmp_path / "here"), str(there)]
        subprocess.run(arguments, check=True, env={"PYTHONHASHSEED": seed})
        assert there.read_bytes() == (tmp_path / "here").read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vectors": np.ones(4, np.float32)}, "`vectors` must be float32 with 2, got float32 with"),
        ({"vectors": np.ones((0, 3), np.float32)}, r"has no vectors \(shape 0 x 3\)"),
        ({"counts": np.ones(4, np.int32)}, "`counts` must be int64 with 1, got int32 with 1 dim"),
        ({"counts": np.ones(3, np.int64)}, "has 4 vectors but 3 counts"),
        ({"counts": np.array([1, 1, -1, 1])}, "has a negative count at id 2"),
        ({"map": np.ones((2, 3), np.float32)}, "has vectors of width 3 but a map of 2 x 3"),
        ({"map": np.full((3, 3), np.inf, np.float32)}, "`map` contains a value that is not finite"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(vectors, changes, message):
    fields = {name: getattr(vectors, name) for name in ("vectors", "counts", "symbols", "map")}
    with pytest.raises(ValueError, match=message):
        Vectors(**fields | changes)


def file_with(path, tensors, about):
    save_file(tensors, path, metadata={"fairseq_xling.vectors": json.dumps(about)})


GOOD = {"format": 1, "symbols": None, "dictionaries": {}, "settings": {}}
TENSORS = {"vectors": np.ones((2, 2), np.float32), "counts": np.ones(2, np.int64)}


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"text"), "not a safetensors file, or damaged ("),
        (lambda path: path.write_bytes(save(TENSORS)), "not a vectors file (as `fairseq-xling"),
        (lambda path: file_with(path, TENSORS, {**GOOD, "format": 9}), "format must be 1, got 9"),
        (lambda path: file_with(path, TENSORS, 7), "its description is damaged; write the file"),
        (
            lambda path: file_with(
                path, {**TENSORS, "vectors": np.array([[1, 2], [3, np.nan]], np.float32)}, GOOD
            ),
            "`vectors` contains a value that is not finite, in row 1",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_it(tmp_path, write, message):
    path = tmp_path / "v.safetensors"
    write(path)
    with pytest.raises(UserError) as error:
        read_vectors(path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)
