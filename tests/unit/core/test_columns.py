"""Columns of tables as lines: the same as the text that they were made of."""

import gzip
import json
import lzma
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from fairseq_xling.core import columns
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import check_files, on_disk, sha256
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.texts import open_binary, read_lines
from tests.end_to_end.engine import BIN

NUMBERS = [f"n{n}" for n in range(9)]
TEXTS = ["ein Hund", "", "zwei\r\nZeilen\rhier\nda", None, "日本語 é\u2028x", *NUMBERS]
LINES = ["ein Hund", "", "zwei Zeilen hier da", "", "日本語 é\u2028x", *NUMBERS]


def table():
    pairs = [None if t is None else {"de": t, "en": f"en {t}"} for t in TEXTS]
    return pa.table(
        {
            "number": list(range(len(TEXTS))),
            "text": TEXTS,
            "large": pa.array(TEXTS, pa.large_string()),
            "kinds": pa.array(TEXTS).dictionary_encode(),
            "translation": pairs,
        }
    )


def write(path):
    found = table()
    if path.suffix == ".parquet":
        parquet.write_table(found, path, row_group_size=4, write_page_checksum=True)
    elif path.name == "stream.arrow":
        with pa.ipc.new_stream(path, found.schema) as writer:
            writer.write_table(found, 4)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, found.schema) as writer:
            writer.write_table(found, 4)
    else:
        opened = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
        with opened(path, "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in found.to_pylist())
    return path


FILES = ["a.parquet", "a.arrow", "stream.arrow", "a.jsonl", "a.jsonl.gz", "a.jsonl.xz"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("column", ["text", "large", "kinds"])
def test_a_column_is_read_as_lines_one_per_row(name, column, tmp_path):
    file = write(tmp_path / name)
    assert list(read_lines(f"{file}:{column}")) == LINES
    check_files(f"{file}:{column}")
    assert sha256(f"{file}:{column}") != sha256(f"{file}:another")
    assert on_disk(f"{file}:{column}") == file


@pytest.mark.parametrize("name", FILES[:3])
def test_a_column_may_be_inside_another_one(name, tmp_path):
    file = write(tmp_path / name)
    assert list(read_lines(f"{file}:translation.de")) == LINES
    english = [
        "" if text is None else f"en {line}" for text, line in zip(TEXTS, LINES, strict=True)
    ]
    assert list(read_lines(f"{file}:translation.en")) == english


@pytest.mark.parametrize("name", FILES)
def test_reading_resumes_at_any_place_as_in_a_file_of_the_same_text(name, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_ROWS", 3)
    text = "".join(f"{line}\n" for line in LINES).encode()
    with open_binary(f"{write(tmp_path / name)}:text") as file:
        for place in (40, 0, 7, len(text), 12, len(text) + 5):
            file.seek(place)
            assert file.tell() == min(place, len(text))
            assert file.read() == text[place:]


def message(path):
    with pytest.raises(UserError) as caught:
        list(read_lines(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(on_disk(path)))


@pytest.mark.parametrize("name", FILES[:3])
def test_columns_that_cannot_be_read_are_named(name, tmp_path):
    file = write(tmp_path / name)
    known = "number, text, large, kinds, translation.de, translation.en"
    assert message(f"{file}:txt") == f": has no column `txt`, only {known}"
    assert message(f"{file}:translation") == f": has no column `translation`, only {known}"
    assert message(f"{file}:number") == ": column `number` must be of strings, got int64"
    assert message(file) == f": must be named with its column, as in {file}:COLUMN; it has {known}"


def test_rows_of_json_lines_that_are_wrong_are_named(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a"}\n{"number": 3, "de": {}}\n')
    assert message(f"{file}:text") == ":2: has no column `text`, only number, de"
    file.write_text('{"text": "a"}\n{"text": 3}\n')
    assert message(f"{file}:text") == ":2: `text` must be a string, got 3"
    file.write_text('{"text": "a"}\n[]\n')
    assert message(f"{file}:text") == ":2: must be an object, got []"
    file.write_text('{"text": "a"}\n{"te\n')
    assert message(f"{file}:text").startswith(":2: not JSON (")
    file.write_text('{"text": {"de": "a"}}\n{"text": {"de": "b"}}\n')
    assert list(read_lines(f"{file}:text.de")) == ["a", "b"]
    assert message(f"{tmp_path}/none.jsonl:text") == ":text: no such file"


TABS = ["id\ttext\tde", "1\ta dog\tein Hund", "", '2\t\t"x"', "3\tb\u2028c\td\r"]


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz", "a.csv", "a.txt"])
def test_columns_between_tabs_have_numbers_or_names(name, tmp_path):
    file = tmp_path / name
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(file.suffix, open)
    with opened(file, "wt", encoding="utf-8-sig", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in TABS)
    assert list(read_lines(f"{file}:1")) == ["id", "1", "", "2", "3"]
    assert list(read_lines(f"{file}:3")) == ["de", "ein Hund", "", '"x"', "d"]
    if file.suffix != ".txt":  # where a name with a colon is a file's own
        assert list(read_lines(f"{file}:text")) == ["a dog", "", "", "b\u2028c"]
        assert on_disk(f"{file}:text") == file


def test_rows_and_columns_between_tabs_that_are_wrong_are_named(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("\n".join(TABS))
    assert message(f"{file}:4") == ": has no column `4`, only 1 to 3"
    assert message(f"{file}:0") == ": has no column `0`, only 1 to 3"
    assert message(f"{file}:txt") == ": has no column `txt`, only 'id, text, de'"
    file.write_text("a\tb\na\tb\tc\n")
    assert message(f"{file}:2") == ":2: has 3 columns between tabs, the first row has 2"
    file.write_text("a\ta\n1\t2\n")
    assert message(f"{file}:a") == ": has 2 columns `a`"
    file.write_text("id,text\n1,a\n")
    expected = ": has no column `text`, only 'id,text'; columns must be separated by tabs"
    assert message(f"{file}:text") == expected


@pytest.mark.parametrize("name", FILES[:3])
def test_a_broken_file_is_named_with_the_row(name, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "_ROWS", 4)
    file = write(tmp_path / name)
    whole = file.read_bytes()
    kind = "Parquet" if name == "a.parquet" else "Arrow"
    file.write_bytes(whole[:40])
    assert f": damaged or not {kind} (" in message(f"{file}:text")
    file.write_bytes(b"no table")
    assert message(f"{file}:text").startswith(f": damaged or not {kind} (")
    if kind == "Parquet":  # others have no checksums, but also no offsets that lead elsewhere
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        texts = table().select(["text"])
        parquet.write_table(texts, file, row_group_size=4, write_page_checksum=True, **plain)
        whole = file.read_bytes()
        place = whole.index(b"n5")
        file.write_bytes(whole[:place] + b"x" + whole[place + 1 :])
        assert message(f"{file}:text").startswith(":9: damaged or not Parquet (")


def test_offsets_that_lead_out_of_an_arrow_file_are_refused(tmp_path):
    texts = pa.array(["first", "second", "third"])
    file = tmp_path / "a.arrow"
    with pa.ipc.new_file(file, pa.schema({"text": pa.string()})) as writer:
        writer.write_batch(pa.record_batch({"text": texts}))
    whole = file.read_bytes()
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 5, 11, 16))
    assert whole.count(offsets) == 1
    file.write_bytes(
        whole.replace(offsets, offsets[:8] + (1 << 30).to_bytes(4, "little") + offsets[12:])
    )
    assert message(f"{file}:text").startswith(":1: damaged or not Arrow (")


def test_a_file_whose_name_only_resembles_a_column_is_a_file(tmp_path):
    file = tmp_path / "a.txt:b"
    file.write_text("x\n")
    assert list(read_lines(file)) == ["x"]


def test_the_library_that_is_missing_is_named_with_its_extra(tmp_path, monkeypatch):
    file = write(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert message(f"{file}:text") == (
        ": needs the library pyarrow: pip install 'fairseq_xling[tables]'"
    )


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_two_columns_of_one_name_are_refused(kind, tmp_path):
    rows = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    file = tmp_path / f"a.{kind}"
    if kind == "parquet":
        parquet.write_table(rows, file)
    else:
        with pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
    with pytest.raises(UserError) as caught:
        list(read_lines(f"{file}:text"))
    assert str(caught.value) == f"{file}: has 2 columns `text`"
    with pytest.raises(UserError, match="has 2 columns `text`"):
        list(columns.column_batches(file, ["text"]))


def test_a_small_file_of_large_texts_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("fairseq_xling.core.ranges._ALWAYS_UNPACKED", 1 << 20)
    monkeypatch.setenv("FAIRSEQ_XLING_BOUNDS", "unpacked=2")
    file = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": ["x" * 10_000] * 5_000}), file)  # stored once
    assert file.stat().st_size < 20_000
    assert message(f"{file}:text").startswith(": must be at most 2 times its size after unpacking")
    parquet.write_table(
        pa.table({"text": [f"{n}" * 1_000_000 for n in range(5)]}), file, compression="zstd"
    )
    assert message(f"{file}:text").startswith(": must be at most 2 times its size after unpacking")
    rows = pa.table({"text": pa.nulls(3_000_000)})
    with pa.ipc.new_file(tmp_path / "a.arrow", rows.schema) as writer:
        writer.write_table(rows)
    with pytest.raises(UserError, match="must be at most 2 times its size after unpacking"):
        list(columns.column_batches(tmp_path / "a.arrow", ["text"]))


def test_a_refused_table_ends_the_program_with_one_line_and_does_not_abort_it(tmp_path):
    rows = pa.table({"text": [f"n{n}" for n in range(40)]})
    with pa.ipc.new_stream(tmp_path / "a.arrow", rows.schema) as writer:
        writer.write_table(rows)
    mono = ("--mono", f"train.de={tmp_path / 'a.arrow'}:nothing")
    command = [BIN / "fairseq-xling", "prepare", tmp_path / "out", "--languages", "de", *mono]
    # Threads of Arrow that held a Python file aborted nearly every such program at its end.
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        (line,) = done.stderr.splitlines()
        assert line.endswith("has no column `nothing`, only text")


def test_provenance_of_a_column_is_that_of_its_table(tmp_path):
    file = write(tmp_path / "a.jsonl")
    for given in (f"{file}:text", file):
        found = provenance({"text": given})["inputs"]["text"]
        assert found["path"] == str(given) and found["bytes"] == file.stat().st_size
        assert found["sha256"] == sha256(file)
