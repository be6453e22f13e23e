"""Which folders are the shards of a data argument, and what they must have in common."""

import shutil

import pytest

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.shards import Shards, shard_paths
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json, sha256, write_json


@pytest.fixture
def cut(make_corpus, tmp_path):
    """A folder of three shards."""
    for number in range(3):
        make_corpus(f"cut/shard{number}", seed=number)
    (tmp_path / "cut" / "models").mkdir()
    return tmp_path / "cut"


def test_a_folder_of_shards_is_the_list_of_them_by_number(cut):
    paths = [cut / f"shard{number}" for number in range(3)]
    assert shard_paths(str(cut)) == paths
    assert shard_paths(":".join(map(str, paths))) == paths
    assert shard_paths(str(paths[1])) == [paths[1]]
    assert shard_paths(f"{paths[2]}:{paths[0]}") == [paths[2], paths[0]]


def test_ten_shards_are_in_the_order_of_their_numbers(tmp_path):
    for number in range(11):
        (tmp_path / f"shard{number}").mkdir()
    (tmp_path / "shard01").mkdir()
    assert [path.name for path in shard_paths(str(tmp_path))] == [f"shard{k}" for k in range(11)]


def test_epochs_train_on_the_shards_in_turn_and_validate_on_the_first(cut):
    shards = Shards(str(cut))
    read = [shards.folder("train", epoch).path.name for epoch in (1, 2, 3, 4)]
    assert read == ["shard0", "shard1", "shard2", "shard0"]
    assert {shards.folder(split, 2).path.name for split in ("valid", "test1")} == {"shard0"}


def test_a_folder_of_shards_is_not_taken_for_a_data_folder(cut):
    with pytest.raises(UserError) as error:
        DataFolder(cut)
    assert str(error.value) == (
        f"{cut}: is a folder of shards; name one of them, such as {cut / 'shard0'}"
    )


def languages(folder):
    meta = read_json(folder / "meta.json")
    write_json(folder / "meta.json", meta | {"languages": ["de", "en"]})


def dictionary(folder):
    file = folder / "dict.txt"
    file.write_text(file.read_text(encoding="utf-8") + "more 1\n", encoding="utf-8")
    meta = read_json(folder / "meta.json")
    write_json(folder / "meta.json", meta | {"dictionaries": {"dict.txt": sha256(file)}})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "{1}: no such folder, though there is shard2; run"),
        (lambda one: (one / "meta.json").unlink(), "{1}: not a finished data folder"),
        (languages, "{1}: has other languages than {0}: de,en, not en,de; prepare them together"),
        (dictionary, "{1}: has other dictionaries than {0}; prepare them together"),
    ],
)
def test_a_shard_that_is_missing_or_of_other_text_is_named(cut, damage, message):
    shards = Shards(str(cut))
    damage(cut / "shard1")
    expected = message.format(cut / "shard0", cut / "shard1")
    with pytest.raises(UserError) as error:
        Shards(str(cut))
    assert str(error.value).startswith(expected)
    with pytest.raises(UserError, match=str(cut / "shard1")):  # in the middle of a training
        shards.folder("train", 2)


def test_a_shard_that_is_named_twice_is_refused(cut):
    one = cut / "shard1"
    with pytest.raises(UserError, match=f"data: {one} is named twice in '{one}:{one}'"):
        shard_paths(f"{one}:{one}")
