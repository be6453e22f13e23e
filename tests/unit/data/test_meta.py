"""Names of splits, and digests of files."""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.meta import (
    check_file,
    check_split,
    check_test_set,
    describe_files,
    in_order,
    is_split,
    sample_digest,
)

RULE = "split must be train, valid or test, the last two also with a number, as in test1"


@pytest.mark.parametrize("name", ["train", "valid", "test", "valid1", "test2", "test2016"])
def test_the_names_that_fairseq_gives_are_splits(name):
    assert is_split(name)
    assert check_split("`--mono`", name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "dev", "train1", "Test", "test01x", "test1 ", "test-1", "mytest", "test.1", "test²"),
        *("test١", "test1\n", "test1234567890"),
    ],
)
def test_other_names_are_not(name):
    assert not is_split(name)
    with pytest.raises(UserError) as error:
        check_split("`--mono`", name)
    assert str(error.value).startswith(f"`--mono`: {RULE}, got {name!r}")


def test_the_message_names_the_rule_the_value_and_what_is_near():
    with pytest.raises(UserError) as error:
        check_split("`--mono` test01x.en", "test01x")
    assert str(error.value) == (
        f"`--mono` test01x.en: {RULE}, got 'test01x'; did you mean 'test1' or 'test'?"
    )
    with pytest.raises(UserError, match="did you mean 'valid' or 'valid1'"):
        check_split("`--mono`", "valide")


def test_only_sets_to_test_on_are_test_sets():
    assert check_test_set("`--test`", "test12") == "test12"
    for name in ("valid1", "train", "dev"):
        with pytest.raises(UserError, match=f"must be test, also with a number.* got '{name}'"):
            check_test_set("`--test`", name)


def test_splits_are_ordered_by_kind_and_then_by_number():
    names = ["other", "test10", "test", "valid", "test9", "train", "valid2", "test1"]
    assert in_order(names) == [
        *("train", "valid", "valid2", "test", "test1", "test9", "test10", "other")
    ]


SIZE = 1_000_000


@pytest.fixture
def text(tmp_path):
    """A file that is too large to be read in full whenever it is opened."""
    path = tmp_path / "train.en.bin"
    path.write_bytes(bytes(k % 251 for k in range(SIZE)))
    return path


def changed(path, place):
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(("place", "seen"), [(0, True), (SIZE - 1, True), (30_000, False)])
def test_a_change_is_seen_at_once_at_either_end_else_by_the_full_check(text, place, seen):
    (recorded,) = describe_files(text.parent, [text.name]).values()
    assert recorded["bytes"] == SIZE and set(recorded) == {"bytes", "sha256", "sample"}
    for fully in (False, True):
        check_file(text, recorded, fully=fully)
    changed(text, place)
    for fully in (False, True):
        if not seen and not fully:
            check_file(text, recorded)
            continue
        with pytest.raises(UserError, match=r"train\.en\.bin: changed since the folder was prep"):
            check_file(text, recorded, fully=fully)


def test_a_small_file_is_sampled_as_a_whole(tmp_path):
    path = tmp_path / "x.idx"
    path.write_bytes(bytes(5000))
    before = sample_digest(path)
    changed(path, 4500)
    assert sample_digest(path) != before


def test_files_that_are_not_text_are_always_read_in_full(tmp_path):
    path = tmp_path / "sentencepiece.model"
    path.write_bytes(bytes(SIZE))
    (recorded,) = describe_files(tmp_path, [path.name]).values()
    changed(path, 30_000)
    with pytest.raises(UserError, match="changed since"):
        check_file(path, recorded)
