import hashlib
import os
import stat
import subprocess
import sys

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import (
    atomic_write,
    decode_json,
    exclusive,
    read_json,
    read_record,
    refuse_files_above,
    remove_links,
    same_place,
    sha256,
    write_json,
)
from fairseq_xling.core.ranges import VARIABLE


def test_a_loop_of_links_is_a_place_of_its_own(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    assert not same_place(tmp_path / "loop", tmp_path / "file")
    assert same_place(tmp_path / "loop", tmp_path / "loop")


def test_what_a_killed_write_has_left_is_removed_and_what_another_writes_is_not(tmp_path):
    abandoned, other = tmp_path / ".a.bin.abcdefgh.tmp", tmp_path / ".b.bin.abcdefgh.tmp"
    abandoned.touch()
    other.touch()
    with atomic_write(tmp_path / "a.bin") as first:
        first.write(b"1")
        assert not abandoned.exists()
        with atomic_write(tmp_path / "a.bin") as second:  # finds the first at it
            second.write(b"2")
        assert (tmp_path / "a.bin").read_bytes() == b"2"
    assert (tmp_path / "a.bin").read_bytes() == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.bin.abcdefgh.tmp", "a.bin"]


def test_an_error_in_the_middle_of_a_write_leaves_the_old_content_and_no_other_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        file.write(b"half of the new")
        file.flush()
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_written_file_can_be_read_by_others(tmp_path):
    with atomic_write(tmp_path / "a.bin") as file:
        file.write(b"x")
    assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) == 0o644


def test_json_comes_back_and_is_readable_and_stable(tmp_path):
    write_json(tmp_path / "a.json", {"b": [1, 2], "a": "▁ü"})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert read_json(tmp_path / "a.json") == {"a": "▁ü", "b": [1, 2]}
    assert "▁ü" in text and text.index('"a"') < text.index('"b"') and text.endswith("}\n")


def test_a_value_that_is_no_json_leaves_nothing_half_written(tmp_path):
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {"a": object()})
    assert os.listdir(tmp_path) == []
    with pytest.raises(UserError, match=r"a\.json: no such file$"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(("content", "what"), [(b'{"a": ', "JSON"), (b"\xff{}", "UTF-8")])
def test_a_file_that_is_not_json_is_named(tmp_path, content, what):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UserError, match=rf"a\.json:1: not {what} \("):
        read_json(tmp_path / "a.json")


def test_the_digest_is_sha256_of_all_bytes(tmp_path):
    content = bytes(range(256)) * 10000  # more than one piece
    (tmp_path / "a").write_bytes(content)
    assert sha256(tmp_path / "a") == hashlib.sha256(content).hexdigest()


def test_a_lock_is_held_by_one_at_a_time_and_ends_with_its_block(tmp_path):
    first, second = exclusive(tmp_path, "taken"), exclusive(tmp_path, "taken")
    with first, pytest.raises(UserError, match="taken"), second:
        pass
    with exclusive(tmp_path, "taken"):
        pass


def test_what_a_kill_left_is_swept_away_where_a_lock_is_taken(tmp_path):
    left, own = tmp_path / ".table.csv.fi6fvjhf.tmp", tmp_path / "notes.tmp"
    for path in (left, own):
        path.write_text("half")
    with exclusive(tmp_path, "taken"):
        assert not left.exists() and own.exists()


def test_a_file_where_a_folder_would_have_to_be_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    refuse_files_above("--output", tmp_path / "new" / "folder")
    with pytest.raises(UserError, match=r"`--output` .*a/b: .*/file is a file, not a folder"):
        refuse_files_above("--output", tmp_path / "file" / "a" / "b")


def test_a_lock_on_what_was_removed_is_refused(tmp_path, monkeypatch):
    path, real = tmp_path / "lock", os.open
    path.touch()

    def slow_open(*args):
        handle = real(*args)
        path.unlink()
        return handle

    monkeypatch.setattr(os, "open", slow_open)
    with pytest.raises(UserError, match="taken"), exclusive(path, "taken"):
        pass


def test_a_folder_is_not_written_over(tmp_path):
    message = f"{tmp_path}: is a folder, not a file"
    with pytest.raises(UserError, match=message), atomic_write(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    message = f"{tmp_path}/pipe: is a pipe or a device, not a file"
    with pytest.raises(UserError, match=message), atomic_write(tmp_path / "pipe"):
        pass
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_is_replaced_and_what_it_leads_to_kept(tmp_path):
    (tmp_path / "bashrc").write_text("precious")
    for name, target in (("link", "bashrc"), ("dangling", "new"), ("loop", "loop")):
        (tmp_path / name).symlink_to(target)
        with atomic_write(tmp_path / name, "w") as file:
            file.write("ours")
        assert not (tmp_path / name).is_symlink() and (tmp_path / name).read_text() == "ours"
    assert (tmp_path / "bashrc").read_text() == "precious"
    assert not (tmp_path / "new").exists()


def test_the_folders_of_a_written_file_may_be_links(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "models").symlink_to("disk")
    with atomic_write(tmp_path / "models" / "a", "w") as file:
        file.write("a")
    assert (tmp_path / "disk" / "a").read_text() == "a"


def test_standard_output_by_its_name_is_no_link_to_replace(tmp_path):
    code = "from fairseq_xling.core.files import write_json; write_json('/dev/stdout', 1)"
    with open(tmp_path / "out", "w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "1\n" and os.path.islink("/dev/stdout")


@pytest.mark.parametrize("text", ["[]", "7", "null", "{", '{"a": [], "c": 1}'])
def test_a_damaged_record_is_as_if_never_noted(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    assert read_record(tmp_path / "a.json", {"a": int, "b": str}) == {}
    write_json(tmp_path / "a.json", {"a": 1, "b": 2})
    assert read_record(tmp_path / "a.json", {"a": int, "b": str}) == {"a": 1}


def test_links_below_a_folder_are_removed_and_no_more(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "work" / "deep").mkdir(parents=True)
    for place in ("work/a", "work/deep/b"):
        (tmp_path / place).symlink_to(tmp_path / "kept")
    remove_links(tmp_path / "work")
    assert os.listdir(tmp_path / "work") == ["deep"] and not os.listdir(tmp_path / "work/deep")
    assert (tmp_path / "kept" / "file").exists()


def test_a_text_that_is_read_as_a_whole_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "json=8")
    path = tmp_path / "a.json"
    path.write_text("[1, 2]\n\n")
    assert read_json(path) == [1, 2]
    path.write_text("[1, 2]\n\n\n")
    with pytest.raises(UserError, match=r"a\.json: must be at most 8 bytes of JSON, got 9 or"):
        read_json(path)


def test_json_of_too_many_values_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setenv(VARIABLE, "values=6")
    assert decode_json("a.json", "[[1, 2], {}, 3]") == [[1, 2], {}, 3]
    with pytest.raises(UserError, match=r"a\.json:7: must be at most 6 values in a JSON text"):
        decode_json("a.json", "[[1, 2], {}, 3, 4]", line=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, r"a\.json:1: not JSON that can be read \(.*recursion"),
        ("1" * 5000, r"a\.json:1: not JSON that can be read \(Exceeds the limit"),
        ('{"a":\n 1,}', r"a\.json:2: not JSON \("),
        ("", r"a\.json:1: not JSON \("),
    ],
)
def test_json_that_cannot_be_read_is_named(text, message):
    with pytest.raises(UserError, match=message):
        decode_json("a.json", text)
