"""What is refused instead of sentences, a line each, and what is not."""

import gzip
import lzma
import os

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import VARIABLE
from fairseq_xling.core.texts import byte_lines, open_binary, read_lines, read_sentences
from fairseq_xling.text.inputs import scan_text

TATOEBA = [f"{n}\teng\tThis is sentence {n}, tabs aside." for n in range(1, 130)]


def message(path, read):
    with pytest.raises(UserError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


def listed(path):
    return list(read_sentences(path))


@pytest.fixture
def written(tmp_path):
    def write(lines, name="text.en", ends="\n"):
        path = tmp_path / name
        data = (ends.join(lines) + ends).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("eng_sentences.tsv", "such as {}:3"),
        ("sentences.csv", "such as {}:3"),
        ("eng.txt.gz", "such as {}:3"),
        ("corpus.en", "with `cut -f 3`"),
    ],
)
def test_a_table_is_refused_with_the_way_to_name_a_column(written, name, hint, read):
    path = written([TATOEBA[0], "", *TATOEBA[1:]], name)
    assert message(path, read) == (
        ": must have a sentence per line, got a table: 99 of its first 99 lines have 3 columns "
        f"between tabs; choose one, {hint.format(path)}"
    )
    if hint.startswith("such"):
        texts = [line.split("\t")[2] for line in TATOEBA]
        assert listed(f"{path}:3") == [texts[0], "", *texts[1:]]
        assert scan_text(f"{path}:3").sentences == len(TATOEBA)


@pytest.mark.parametrize("read", [scan_text, listed])
def test_annotated_words_are_no_sentences(written, read):
    words = ["# sent_id = 1", "1\tDogs\tdog\tNOUN", "2\trun\trun\tVERB", "3\t.\t.\tPUNCT", ""]
    assert "4 columns between tabs" in message(written(words * 3, "train.txt"), read)


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (['<?xml version="1.0" encoding="UTF-8"?>', "<tmx>"], "got XML that begins with <?xml;"),
        (["", "  <tmx version='1.4'>"], "got XML that begins with <tmx;"),
        (["<CHAPTER ID=1>", "Agenda"], "got XML that begins with <CHAPTER;"),
        (["<doc id='12' url='x' title='A'>", "A", "</doc>"], "got XML that begins with <doc;"),
        (["\ufeff<!DOCTYPE html>"], "got XML that begins with <!DOCTYPE;"),
        (['{"text": "a dog"}', '{"text": "a cat"}'], "got JSON; name what to read"),
        (["a\0 \0d\0o\0g\0", "c"], "has NUL in its first line, as archives and text in UTF-16 do"),
    ],
)
def test_markup_and_json_are_refused(written, lines, what, read):
    assert what in message(written(lines), read)


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("0-0 1-2 12-3", "word alignment links"),
        ("a dog ||| ein Hund", "two sentences per line, as fast_align reads them; write a file"),
        ("the 0.418 -0.24968 4.1e-05", "vectors of words"),
        ("EU NNP B-NP B-ORG", "a word and its tag per line; write a sentence per line"),
    ],
)
def test_lines_of_another_form_are_refused(written, line, what, read):
    path = written([line, "", line, "Dogs bark.", line])
    assert f": must be plain text, a sentence per line, got {what}" in message(path, read)
    assert read(written([line, "Dogs bark.", line]))


def test_a_table_with_commas_is_refused_by_its_name(written):
    assert "got a table by its name" in message(written(["id,text", "1,a dog"], "a.csv"), listed)


@pytest.mark.parametrize("read", [scan_text, listed])
@pytest.mark.parametrize(
    "lines",
    [
        ["one\ttab"],
        ["\tindented", "\tindented", "\tindented"],
        ["a\tb", "c", "d e", "f\tg\th"],
        ["<SPEAKER ID=1> Europarl", "a < b"],
        ["<3 you >"],
        ["12-1"],
        ["{a set}", "{another one}"],
        ["&apos;s", "x \u2028 y", "\x85"],
    ],
)
def test_plain_text_with_odd_characters_is_read(written, lines, read):
    assert read(written(lines))


@pytest.mark.parametrize(
    ("start", "rule"),
    [
        (gzip.compress(b"a dog", mtime=0), "is packed by gzip; its name must end in .gz"),
        (b"PK\3\4\x14\0", "is a ZIP archive, not text; unpack it"),
        ("\ufeffein Hund".encode("utf-16-le"), "is UTF-16, not UTF-8; convert it, as with `iconv"),
    ],
)
@pytest.mark.parametrize("read", [scan_text, listed])
def test_files_of_another_kind_are_named_as_what_they_are(tmp_path, start, rule, read):
    path = tmp_path / "corpus.txt"
    path.write_bytes(start)
    assert message(path, read).startswith(f": {rule}")


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


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_line_that_is_too_long_is_named_after_the_good_ones_were_given(
    tmp_path, monkeypatch, name
):
    monkeypatch.setenv(VARIABLE, "line=6")
    content = b"12345\n\n123456"
    path = tmp_path / name
    path.write_bytes(gzip.compress(content + b"7\nx") if name.endswith("gz") else content + b"7\nx")
    lines = read_lines(path)
    assert [next(lines), next(lines)] == ["12345", ""]
    with pytest.raises(UserError, match=r":3: must be at most 6 bytes in a line of text, got 7 or"):
        next(lines)
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert list(byte_lines(path)) == [b"12345\n", b"\n", b"123456"]


def test_a_gzip_file_that_unpacks_to_far_more_than_text_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(70_000 * (999 * b"a" + b"\n"), 6))  # 70 MB, of 68 kB
    with pytest.raises(UserError, match=r"bomb\.gz: must be at most 200 times its size after"):
        for _ in byte_lines(path):
            pass
    monkeypatch.setenv(VARIABLE, "unpacked=2000")
    assert sum(1 for _ in byte_lines(path)) == 70_000
