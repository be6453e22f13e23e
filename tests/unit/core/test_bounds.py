import gzip
from pathlib import Path

import pytest

from fairseq_xling.core.bounds import BOUNDS, VARIABLE, bound, check_bound
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import byte_lines, read_json, read_lines
from fairseq_xling.core.json_fields import decode_json


def set_bounds(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)


def test_a_value_above_a_bound_is_refused_with_the_way_to_raise_it(monkeypatch):
    most = BOUNDS["sentence"].default
    check_bound("sentence", most, "a.conllu:1")
    with pytest.raises(UserError) as refused:
        check_bound("sentence", most + 1, "a.conllu:1")
    assert str(refused.value) == (
        "a.conllu:1: must be at most 3000 lines in an annotated sentence, got 3001 or more; "
        "FAIRSEQ_XLING_BOUNDS=sentence=N raises the bound"
    )
    set_bounds(monkeypatch, "line=5, sentence=3001")
    check_bound("sentence", most + 1, "a.conllu:1")
    assert bound("line") == 5 and bound("json") == BOUNDS["json"].default


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lines=5", "unknown bound in FAIRSEQ_XLING_BOUNDS 'lines'; did you mean 'line'"),
        ("line", "FAIRSEQ_XLING_BOUNDS: line must be a whole number, got ''"),
        ("line=-5", "FAIRSEQ_XLING_BOUNDS: line must be a whole number, got '-5'"),
        ("line=" + "9" * 5000, "FAIRSEQ_XLING_BOUNDS: line must be a whole number"),
    ],
)
def test_a_mistaken_bound_is_named(monkeypatch, text, message):
    set_bounds(monkeypatch, text)
    with pytest.raises(UserError, match=message):
        bound("line")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_line_that_is_too_long_is_named_after_the_good_ones_were_given(
    tmp_path, monkeypatch, name
):
    set_bounds(monkeypatch, "line=6")
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
    set_bounds(monkeypatch, "unpacked=2000")
    assert sum(1 for _ in byte_lines(path)) == 70_000


def test_a_text_that_is_read_as_a_whole_is_bounded(tmp_path, monkeypatch):
    set_bounds(monkeypatch, "json=8")
    path = tmp_path / "a.json"
    path.write_text("[1, 2]\n\n")
    assert read_json(path) == [1, 2]
    path.write_text("[1, 2]\n\n\n")
    with pytest.raises(UserError, match=r"a\.json: must be at most 8 bytes of JSON, got 9 or"):
        read_json(path)


def test_json_of_too_many_values_is_refused_before_it_is_read(monkeypatch):
    set_bounds(monkeypatch, "values=6")
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


def test_the_page_of_bounds_has_each_with_its_default():
    page = Path(__file__).parents[3] / "docs" / "reference" / "bounds.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {one.default} | {one.what} |" for name, one in BOUNDS.items()]
