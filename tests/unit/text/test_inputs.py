"""One pass over a file of text, compared with plain Python."""

import gzip
import lzma

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.text import inputs
from fairseq_xling.text.inputs import TextFacts, scan_text


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b"a\nb\n", TextFacts(2, 2, 4)),
        (b"a\nb", TextFacts(2, 2, 3)),
        (b"\n\n\na\n\n\n\n\n", TextFacts(8, 1, 9)),
        ("ä€😀\n".encode(), TextFacts(1, 1, 10)),
        (b"a\x0b\x1cb\x85"[:4] + b"\n", TextFacts(1, 1, 5)),
    ],
)
def test_lines_and_sentences_are_counted_whatever_the_block(
    tmp_path, monkeypatch, block, data, facts
):
    monkeypatch.setattr(inputs, "_BLOCK", block)
    (tmp_path / "a.txt").write_bytes(data)
    read = []
    assert scan_text(tmp_path / "a.txt", read.append) == facts
    assert sum(read) == len(data)


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("data", "line"),
    [(b"a\nb\nc\xff\nd\n", 3), (b"\xe4\n", 1), ("a\n\n€".encode()[:-1], 3), (b"a\n\xe2\n\xac", 2)],
)
def test_text_that_is_not_utf8_is_refused_with_file_and_line(
    tmp_path, monkeypatch, block, data, line
):
    monkeypatch.setattr(inputs, "_BLOCK", block)
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(UserError, match=rf"a\.txt:{line}: not UTF-8"):
        scan_text(tmp_path / "a.txt")


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("data", "line"),
    [(b"a\rb\r" * 200, 1), (b"a\rb", 1), (b"a\nb\r\n" + b"c\r" * 12 + b"\nd\n", 3)],
)
def test_lines_that_end_in_carriage_returns_alone_are_refused(
    tmp_path, monkeypatch, block, data, line
):
    monkeypatch.setattr(inputs, "_BLOCK", block)
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(UserError, match=rf"a\.txt:{line}: lines must end in LF or CR LF, got"):
        scan_text(tmp_path / "a.txt")


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("data", "lines"), [(b"a\rb\nc\n", 2), (b"a\r\n" * 20, 20), (b"a\r", 1), (b"a\rb\n", 1)]
)
def test_stray_carriage_returns_are_text(tmp_path, monkeypatch, block, data, lines):
    monkeypatch.setattr(inputs, "_BLOCK", block)
    (tmp_path / "a.txt").write_bytes(data)
    assert scan_text(tmp_path / "a.txt").lines == lines


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n\n"])
def test_text_without_a_sentence_is_refused(tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(UserError, match=r"a\.txt: contains no text"):
        scan_text(tmp_path / "a.txt")


@pytest.mark.parametrize("cut", [4, 30])
def test_damaged_gzip_is_refused(tmp_path, cut):
    data = gzip.compress(b"hello\n" * 1000)
    (tmp_path / "a.gz").write_bytes(data[:cut])
    with pytest.raises(UserError, match=r"a\.gz: damaged gzip file"):
        scan_text(tmp_path / "a.gz")
    (tmp_path / "b.gz").write_bytes(b"plain text, not gzip")
    with pytest.raises(UserError, match=r"b\.gz: damaged gzip file"):
        scan_text(tmp_path / "b.gz")
    (tmp_path / "c.xz").write_bytes(lzma.compress(b"hello\n" * 1000)[: cut + 30])
    with pytest.raises(UserError, match=r"c\.xz: damaged xz file"):
        scan_text(tmp_path / "c.xz")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.txt: no such file"):
        scan_text(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_a_line_that_is_too_long_is_named_wherever_blocks_end(tmp_path, monkeypatch, block):
    monkeypatch.setattr(inputs, "_BLOCK", block)
    monkeypatch.setenv("FAIRSEQ_XLING_BOUNDS", "line=10")
    path = tmp_path / "a.txt"
    path.write_bytes(b"x\n" + b"y" * 10 + b"\n\n" + b"z" * 10)
    assert scan_text(path).lines == 4
    if block < 10:  # a line that lies in one block takes no more memory than the block
        path.write_bytes(b"x\n" + b"y" * (10 + block) + b"\nz\n")
        with pytest.raises(UserError, match=r"a\.txt:2: must be at most 10 bytes in a line"):
            scan_text(path)
