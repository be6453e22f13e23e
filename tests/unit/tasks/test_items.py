from pathlib import Path

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.items import Item, column_number, parse_columns, parse_files


def test_an_item_knows_its_place():
    assert Item("a/b.tsv", 7).place == "a/b.tsv:7"


def test_files_are_named_with_their_language():
    assert parse_files("--x", " en=a=b.tsv , de=c ") == [("en", Path("a=b.tsv")), ("de", Path("c"))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`--x` must name a file, as in en=FILE"),
        ("a.tsv", "`--x` must look like en=FILE, got 'a.tsv'"),
        ("en=", "`--x` must look like en=FILE, got 'en='"),
        ("e n=a", "language code 'e n' in 'e n' must be letters, digits or '_', starting with a"),
    ],
)
def test_other_texts_are_no_files(text, message):
    with pytest.raises(UserError) as error:
        parse_files("--x", text)
    assert message in str(error.value)


def test_columns_are_numbers_or_headings():
    columns = parse_columns("text=-2,label=gold")
    header = {"a": 0, "b": 1, "gold": 2}
    assert column_number(columns, "text", header, 0) == -2
    assert column_number(columns, "label", header, 0) == 2
    assert column_number(columns, "pair", header, 9) == 9
    with pytest.raises(UserError, match="`--columns` label=gold: no such heading; the file has a"):
        column_number(columns, "label", {"a": 0}, 0)
    with pytest.raises(UserError, match="`--columns` must look like text=0,label=1, got 'text'"):
        parse_columns("text")
    with pytest.raises(UserError, match="`--columns` must name 'text' once, got it twice"):
        parse_columns("text=0,text=1")
