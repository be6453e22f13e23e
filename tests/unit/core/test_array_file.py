"""Files of arrays: whole, equal byte by byte, refused in one line when they are anything else."""

import json

import numpy as np
import pytest

from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError

KIND = ArrayFile("test.kind", "a kind (as `kind` writes it)", needs=("x",), format=3)
X = np.arange(6.0).reshape(2, 3)


def test_arrays_and_their_description_come_back(tmp_path):
    KIND.write(tmp_path / "a", {"x": X.T, "y": np.arange(2)}, {"b": [1, "ä"], "a": None})
    KIND.write(tmp_path / "b", {"y": np.arange(2), "x": X.T}, {"a": None, "b": [1, "ä"]})
    arrays, about = KIND.read(tmp_path / "a")
    assert np.array_equal(arrays["x"], X.T) and arrays["y"].dtype == np.int64
    assert about == {"format": 3, "a": None, "b": [1, "ä"]}
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_anything_else_is_refused_in_one_line(tmp_path):
    def refused(message):
        with pytest.raises(UserError, match=message):
            KIND.read(tmp_path / "file")

    ArrayFile("test.other", "").write(tmp_path / "file", {"x": X}, {})
    refused("file: not a kind \\(as `kind` writes it\\)")
    KIND.write(tmp_path / "file", {"y": X}, {})
    refused("file: not a kind")
    ArrayFile("test.kind", "", format=4).write(tmp_path / "file", {"x": X}, {})
    refused("file: format must be 3, got 4")


@pytest.mark.parametrize("error", [KeyError("b"), TypeError(), ValueError("int('x')")])
def test_what_a_description_lacks_is_a_damage_of_the_file(error):
    message = "file: its description is damaged; write the file again"
    with pytest.raises(UserError, match=message), described_well("file"):
        raise error


def test_what_a_description_is_already_blamed_for_is_passed_on():
    with pytest.raises(UserError, match=r"^file: labels must differ$"), described_well("file"):
        raise UserError("file: labels must differ")


@pytest.mark.parametrize("second", [[8, 24], [0, 16], [24, 40]], ids=["overlap", "same", "gap"])
def test_arrays_that_overlap_or_leave_a_gap_are_refused(tmp_path, second):
    path, about = tmp_path / "x.safetensors", {"dtype": "F32", "shape": [4]}
    arrays = {"a": {**about, "data_offsets": [0, 16]}, "b": {**about, "data_offsets": second}}
    header = json.dumps(arrays).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(second[1]))
    with pytest.raises(UserError, match=r"x.safetensors: not a safetensors file, or damaged"):
        ArrayFile("mark", "a file").read(path)
