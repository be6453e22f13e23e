import pytest

from fairseq_xling.data.splits import check_split, check_test_set, in_order, is_split
from fairseq_xling.errors import UserError

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
