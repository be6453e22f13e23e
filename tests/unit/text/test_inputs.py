"""One pass over a file of text, compared with plain Python."""

import pytest

from fairseq_xling.core.errors import UserError
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
        (b"a\x0b\x1cb\n", TextFacts(1, 1, 5)),
        # Stray carriage returns are text.
        (b"a\rb\nc\n", TextFacts(2, 2, 6)),
        (b"a\r\n" * 20, TextFacts(20, 20, 60)),
        (b"a\r", TextFacts(1, 1, 2)),
        (b"a\rb\n", TextFacts(1, 1, 4)),
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


NOT_UTF8, NO_LINE_FEEDS = "not UTF-8", "lines must end in LF or CR LF, got"


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"a\nb\nc\xff\nd\n", 3, NOT_UTF8),
        (b"\xe4\n", 1, NOT_UTF8),
        ("a\n\n€".encode()[:-1], 3, NOT_UTF8),
        (b"a\n\xe2\n\xac", 2, NOT_UTF8),
        (b"a\rb\r" * 200, 1, NO_LINE_FEEDS),
        (b"a\rb", 1, NO_LINE_FEEDS),
        (b"a\nb\r\n" + b"c\r" * 12 + b"\nd\n", 3, NO_LINE_FEEDS),
    ],
)
def test_what_is_no_text_is_refused_with_file_and_line(
    tmp_path, monkeypatch, block, data, line, message
):
    monkeypatch.setattr(inputs, "_BLOCK", block)
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(UserError, match=rf"a\.txt:{line}: {message}"):
        scan_text(tmp_path / "a.txt")


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


@pytest.mark.parametrize(
    "line, said",
    [
        ("the do@@ gs run", "1 `@@ ` of subword-nmt"),
        ("▁the ▁dog s", "2 `▁` of sentencepiece"),
        ("the do ##gs run", "1 `##` of BERT's pieces"),
        ("the dog &apos;s &quot; run &#124;", "3 escapes such as `&apos;`"),
        ("<range>", "1 lines of a tag alone"),
        (' <seg id="1"> ', "1 lines of a tag alone"),
        ("mail me @@ home", ""),
        ("a < b & c > d", ""),
        ("## a heading", ""),
    ],
)
def test_marks_that_are_no_text_are_counted_over_the_whole_file(line, said, tmp_path, caplog):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"a plain line {n}\n" for n in range(300)) + f"{line}\n")
    scan_text(path)
    assert f"{path}: has {said}, read as text; " in caplog.text if said else not caplog.text
    caplog.clear()
    path.write_text("a plain line\n" * 3000 + f"{line}\n")  # one in thousands is about such things
    scan_text(path)
    assert not caplog.text


def test_nul_is_refused_on_any_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a line\n" * 200_000 + b"half\0line\n")
    with pytest.raises(UserError, match=r"a\.txt:200001: has NUL, which is no text"):
        scan_text(path)
