"""Folders of Hugging Face's datasets are their files, wherever files are named."""

import json
from pathlib import Path

import pytest

from fairseq_xling.core.dataset_folders import files_of
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.texts import read_lines
from fairseq_xling.papers.transfer.parsing import parse_tests
from fairseq_xling.tasks.formats.conll import TaggedRows
from fairseq_xling.tasks.items import parse_files
from fairseq_xling.text.sources import parse_sources

NAMES = [f"data-0000{number}-of-00003.arrow" for number in range(3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five rows in three files, as the library writes them."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed (extra dev)")
    folder = tmp_path_factory.mktemp("saved") / "set"
    rows = {"tokens": [[f"w{n}", "x"] for n in range(5)], "text": [f"line {n}" for n in range(5)]}
    made = datasets.Dataset.from_dict({**rows, "ner_tags": [[0, 1]] * 5})
    classes = datasets.List(datasets.ClassLabel(names=["O", "B-PER"]))
    made = made.cast_column("ner_tags", classes)
    made.save_to_disk(folder, num_shards=3)
    datasets.DatasetDict({"train": made, "test": made}).save_to_disk(folder.parent / "splits")
    return folder


def test_a_folder_is_its_files_in_order_each_with_the_column(folder):
    assert files_of(folder) == [folder / name for name in NAMES]
    columns = files_of(f"{folder}:text")
    assert columns == [folder / f"{name}:text" for name in NAMES]
    assert [line for file in columns for line in read_lines(file)] == [
        f"line {n}" for n in range(5)
    ]


def test_text_and_labelled_rows_are_read_from_a_folder(folder):
    sources = parse_sources(["en"], mono=[f"train.en={folder}:text,other.txt"])
    assert sources.mono["train", "en"] == (*files_of(f"{folder}:text"), Path("other.txt"))
    found = parse_files("--train-file", f"en={folder},de=de.tsv")
    assert found == [*(("en", file) for file in files_of(folder)), ("de", Path("de.tsv"))]
    items = [item for _, file in found[:3] for item in TaggedRows.read(file, {})]
    assert [item.words[0] for item in items] == [f"w{n}" for n in range(5)]
    assert {item.tags for item in items} == {("O", "B-PER")}


def test_several_files_are_refused_where_one_is_read(folder):
    texts = [f"train.en-de={folder}:text,{folder}:text"]
    message = f"`--parallel` train.en-de needs one file, got 3 in {folder}:text; save it with"
    with pytest.raises(UserError, match=message):
        parse_sources(["en", "de"], parallel=texts)
    # Its files are never taken for the two sides.
    with pytest.raises(UserError, match=r"`--parallel` train.en-de needs two files, got 1"):
        parse_sources(["en", "de"], parallel=[f"train.en-de={folder}:text"])
    whole = [f"train.en-de={folder}/{NAMES[0]}:text,{folder}/{NAMES[1]}:text"]
    assert parse_sources(["en", "de"], parallel=whole).parallel
    with pytest.raises(UserError, match="has two files of language 'en'"):
        parse_tests("--test", [f"en={folder}"])


def test_other_paths_stay_as_they_are_wherever_the_program_runs(folder, monkeypatch):
    monkeypatch.chdir(folder)  # a folder of a dataset itself
    for name in (
        "a.txt",
        "a.parquet:text",
        "missing/a.arrow",
        "..",
        "no:where:else",
        str(folder.parent),
    ):
        assert files_of(name) == [Path(name)]


def test_a_folder_of_splits_asks_for_one(folder):
    splits = folder.parent / "splits"
    message = f"{splits}: has the splits train, test; name the folder of one, as in {splits}/train"
    for column in ("", ":text"):
        with pytest.raises(UserError) as caught:
            files_of(f"{splits}{column}")
        assert str(caught.value) == message + column


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "has no `_data_files`"),
        ({"_data_files": []}, "names no file"),
        ({"_data_files": [{}]}, "has no `filename`"),
        ({"_data_files": [{"filename": 1}]}, "`filename` must be a text, got 1"),
        ({"_data_files": [{"filename": "b"}]}, "names the file 'b', which is not in the folder"),
        ({"_data_files": [{"filename": "../a"}]}, "names the file '../a', which is not in the fol"),
    ],
)
def test_a_damaged_folder_is_one_line(content, message, tmp_path):
    (tmp_path / "a").write_text("outside")
    state = tmp_path / "set" / "state.json"
    state.parent.mkdir()
    state.write_text(json.dumps(content))
    with pytest.raises(UserError) as caught:
        files_of(state.parent)
    assert str(caught.value).startswith(f"{state}: {message}")
