import numpy as np
import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.work_folder import WorkFolder, work_folder


def test_a_part_is_found_by_the_same_computation_only(tmp_path):
    arrays = {"w": np.eye(2, dtype=np.float32), "n": np.arange(3)}
    WorkFolder(tmp_path, {"lr": 0.1}).keep("seed-1", arrays, {"rounds": [1.5, None]})
    found, value = WorkFolder(tmp_path, {"lr": 0.1}).find("seed-1")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    assert value == {"rounds": [1.5, None]}
    assert WorkFolder(tmp_path, {"lr": 0.2}).find("seed-1") is None
    assert WorkFolder(tmp_path, {"lr": 0.1}).find("seed-2") is None


def test_a_damaged_part_is_as_good_as_missing(tmp_path):
    work = WorkFolder(tmp_path, 1)
    work.keep("part", {"w": np.eye(2)})
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    assert work.find("part") is None


def test_the_folder_goes_when_all_is_done_and_stays_after_a_failure(tmp_path):
    output = tmp_path / "out"
    with pytest.raises(KeyError), work_folder(output, 1) as work:
        work.keep("part", {"w": np.eye(2)})
        raise KeyError
    with work_folder(output, 1) as work:
        assert work.find("part") is not None
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_run_that_kept_nothing(tmp_path):
    with pytest.raises(UserError, match="bad"), work_folder(tmp_path / "out", 1):
        raise UserError("bad")
    assert list(tmp_path.iterdir()) == []


def test_two_runs_on_one_output_are_refused(tmp_path):
    with (
        work_folder(tmp_path / "out", 1),
        pytest.raises(UserError, match=r"/out: another run is writing it$"),
        work_folder(tmp_path / "out", 1),
    ):
        pass
