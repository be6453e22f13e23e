import gzip
import hashlib
import lzma
import os
import stat
import subprocess
import sys

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import (
    atomic_write,
    exclusive,
    open_binary,
    read_json,
    read_lines,
    read_record,
    refuse_files_above,
    remove_links,
    same_place,
    sha256,
    write_json,
)


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


def test_lines_end_at_newlines_only_and_lose_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffa b \r\n\nc\u2028d\x0be\x85f".encode())  # no byte order mark
    assert list(read_lines(path)) == ["a b ", "", "c\u2028d\x0be\x85f"]


@pytest.mark.parametrize(
    ("content", "line", "count"),
    [
        (b"a\tb\rc\td\r" * 150, 1, 299),
        (b"a\rb", 1, 1),
        (b"a\nb\r\n" + b"c\r" * 12 + b"\nd\n", 3, 11),
    ],
)
def test_lines_that_end_in_carriage_returns_alone_are_refused(tmp_path, content, line, count):
    (tmp_path / "a.txt").write_bytes(content)
    message = f"a.txt:{line}: lines must end in LF or CR LF, got {count} CR alone in one line; "
    with pytest.raises(UserError, match=message):
        list(read_lines(tmp_path / "a.txt"))


@pytest.mark.parametrize("content", [b"a\rb\nc\n", b"a\r\n" * 20, b"a\r", b"a\r\r\nb"])
def test_a_stray_carriage_return_is_text(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    expected = [line.rstrip("\r") for line in content.decode().removesuffix("\n").split("\n")]
    assert list(read_lines(tmp_path / "a.txt")) == expected


@pytest.mark.parametrize("compressed", [False, True])
def test_a_line_that_is_not_utf8_is_named_after_the_good_ones_were_given(tmp_path, compressed):
    content = b"good\nalso good\nbad \xff here\n"
    path = tmp_path / ("a.txt.gz" if compressed else "a.txt")
    path.write_bytes(gzip.compress(content) if compressed else content)
    lines = read_lines(path)
    assert [next(lines), next(lines)] == ["good", "also good"]
    with pytest.raises(UserError) as caught:
        next(lines)
    found = f"{path}:3: not UTF-8 (byte 4: invalid start byte); convert it, as with `iconv"
    assert str(caught.value).startswith(found)


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nothing\.txt: no such file$"):
        list(read_lines(tmp_path / "nothing.txt"))
    with pytest.raises(UserError, match=r"is a folder, not a file$"):
        list(read_lines(tmp_path))
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    with pytest.raises(UserError, match=r"is a pipe or a device, not a file$"):
        list(read_lines(tmp_path / "pipe"))


def test_a_damaged_gzip_file_is_named(tmp_path):
    path, whole = tmp_path / "a.gz", gzip.compress(os.urandom(5000).hex().encode())
    for content in (b"plain text\n", whole[:2000], whole[:10] + b"\xff" * 8 + whole[18:]):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"a\.gz: damaged gzip file \("):
            list(read_lines(path))


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


def test_xz_is_read_by_its_name_and_named_when_damaged(tmp_path):
    path, packed = tmp_path / "a.txt.xz", lzma.compress("▁ü\nb\n".encode() * 999)
    path.write_bytes(packed)
    assert list(read_lines(path)) == ["▁ü", "b"] * 999
    with open_binary(path) as file:
        file.seek(6)
        assert file.readline() == b"b\n"
    for damaged in (packed[:-20], b"plain text"):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"a\.txt\.xz: damaged xz file"):
            list(read_lines(path))


def test_text_that_is_packed_otherwise_is_refused(tmp_path):
    path = tmp_path / "a.zst"
    path.write_bytes(b"x")
    with pytest.raises(UserError) as error:
        open_binary(path)
    assert str(error.value) == f"{path}: text may be packed as .gz or .xz, not .zst; unpack it"
