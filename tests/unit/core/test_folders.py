import os
from pathlib import Path

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.core.folders import WorkFolder, is_finished, new_folder, work_folder

SETTINGS = {"layers": [0]}


def write(output, settings=SETTINGS, ending=None):
    """What is in the folder at first; a file goes into it, and ``ending`` is raised."""
    with new_folder(output, settings, "extract") as folder:
        found = sorted(path.name for path in folder.iterdir())
        (folder / "rows").write_text("x")
        if ending is not None:
            raise ending
        write_json(folder / "meta.json", {"settings": settings})
    return found


def test_it_appears_whole_and_tells_its_settings(tmp_path):
    output = tmp_path / "out"
    assert not is_finished(output, SETTINGS)
    assert write(output) == ["settings.json"]
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert {path.name for path in output.iterdir()} == {"rows", "meta.json"}
    assert is_finished(output, SETTINGS)
    with pytest.raises(UserError, match="out: must be new; it contains something else"):
        is_finished(output, {"layers": [1]})


def test_a_kill_leaves_what_was_done_for_the_same_settings_only(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", ending=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "other", ending=KeyboardInterrupt())
    assert write(tmp_path / "out") == ["rows", "settings.json"]
    assert write(tmp_path / "other", {"layers": [1]}) == ["settings.json"]


def test_a_users_mistake_leaves_nothing(tmp_path):
    with pytest.raises(UserError, match="bad"):
        write(tmp_path / "out", ending=UserError("bad"))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_filled_and_anything_else_may_not(tmp_path):
    (tmp_path / "empty").mkdir()
    assert not is_finished(tmp_path / "empty", SETTINGS)
    write(tmp_path / "empty")
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "meta.json").write_text("[]")
    (tmp_path / "file").write_text("")
    for name in ("list", "file"):
        with pytest.raises(UserError, match=f"`--output` .*{name}: must be new"):
            is_finished(tmp_path / name, SETTINGS)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_leads_to_the_folder_that_is_filled(tmp_path, there):
    target = tmp_path / "other" / "target"
    (target if there else target.parent).mkdir(parents=True)
    (tmp_path / "link").symlink_to(target)
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in target.iterdir()) == ["meta.json", "rows"]
    assert [path.name for path in target.parent.iterdir()] == ["target"]


def test_links_in_a_begun_folder_are_not_written_through(tmp_path):
    partial = tmp_path / ".out.partial"
    partial.mkdir()
    write_json(partial / "settings.json", SETTINGS)
    (tmp_path / "victim").write_text("precious")
    (partial / "rows").symlink_to(tmp_path / "victim")
    write(tmp_path / "out")
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.fixture
def home(tmp_path):
    """A folder of the user's, to which links of a folder from elsewhere lead."""
    (tmp_path / "home" / "deep").mkdir(parents=True)
    for name in ("thesis", "deep/rows.safetensors"):
        (tmp_path / "home" / name).write_text("precious")
    (tmp_path / "home" / "latest").symlink_to("thesis")
    yield tmp_path / "home"
    for name in ("thesis", "latest", "deep/rows.safetensors"):
        assert (tmp_path / "home" / name).read_text() == "precious"
    assert (tmp_path / "home" / "latest").is_symlink()


def test_a_link_in_place_of_our_folder_is_replaced(tmp_path, home):
    (tmp_path / ".out.partial").symlink_to(home)
    write(tmp_path / "out")
    assert not (tmp_path / "out").is_symlink()
    (tmp_path / "out.work").symlink_to(home / "deep")
    with work_folder(tmp_path / "out", {}) as work:
        work.keep("rows", {})
    assert not os.path.lexists(tmp_path / "out.work")


def test_the_current_folder_is_refused_before_anything_is_done(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for output in (Path("."), tmp_path / "here"):
        with pytest.raises(UserError, match="`--output` must be another folder than the current"):
            write(output)
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_two_runs_on_one_folder_are_refused(tmp_path):
    with (
        new_folder(tmp_path / "out", SETTINGS, "map apply") as folder,
        pytest.raises(UserError, match="out: another `map apply` is writing it"),
        new_folder(tmp_path / "out", SETTINGS, "map apply"),
    ):
        pass
    assert not folder.exists()


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
