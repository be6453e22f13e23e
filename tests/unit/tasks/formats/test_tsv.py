import gzip

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.tsv import Tsv


def read(path, **columns):
    return list(Tsv.read(path, columns))


def test_two_columns_are_a_text_and_its_label(written):
    items = read(written("a.tsv", "a dog\tyes\nthe cat \tno\n"))
    assert [(i.texts, i.label, i.line) for i in items] == [
        (("a dog",), "yes", 1),
        (("the cat ",), "no", 2),
    ]


def test_three_columns_are_a_pair_and_one_is_a_text_alone(written):
    (item,) = read(written("a.tsv", "a\tb\tc\n"))
    assert (item.texts, item.label) == (("a", "b"), "c")
    (item,) = read(written("b.tsv", "a\n"))
    assert (item.texts, item.label) == (("a",), None)


def test_columns_may_have_headings_and_be_in_any_order(written):
    path = written("a.tsv", "gold\tid\tsecond\tfirst\nyes\t7\tb\ta\n")
    (item,) = read(path, text="first", pair="second", label="gold")
    assert (item.texts, item.label, item.line) == (("a", "b"), "yes", 2)
    assert read(path, text="3", label="-4")[1].label == "yes"


def test_files_may_be_packed(tmp_path):
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as file:
        file.write("a\tb\n")
    assert read(tmp_path / "a.tsv.gz")[0].label == "b"


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a\tb\na\n", {}, ":2: must have 2 columns like the row before, got 1"),
        ("a\tb\n \tb\n", {}, ":2: the text is empty"),
        ("a\tb\na\t\n", {}, ":2: the label is empty"),
        ("a\tb\tc\td\n", {}, ":1: has 4 columns; name them by `--columns text=0,label=1`"),
        ("a\tb\n", {"label": "2"}, ":1: has no column 2 (`label`), only 2 columns"),
        ("", {}, ": contains no rows"),
        ("x\ty\na\tb\n", {"label": "gold"}, "`--columns` label=gold: no such heading"),
        ("x\tx\na\tb\n", {"label": "x"}, ":1: there are two headings 'x'"),
        (
            "a\tb\n",
            {"label": "0"},
            "`--columns` must give each of label, text its own column",
        ),
        ("a\tb\n", {"tag": "1"}, "`--columns` must name text, pair, label, got 'tag'"),
        ("a\tb\n\na\tb\n", {}, ":2: must have 2 columns like the row before, got 1"),
    ],
)
def test_a_broken_row_is_named(written, text, columns, message):
    path = written("a.tsv", text)
    with pytest.raises(UserError) as error:
        read(path, **columns)
    assert message in str(error.value)


def test_predictions_take_the_place_of_labels_or_a_new_column(written, tmp_path):
    items = read(written("a.tsv", "gold\ttext\nyes\ta\nno\tb\n"), text="text", label="gold")
    Tsv.write(tmp_path / "out", items, ["no", "no"], {})
    assert (tmp_path / "out").read_text() == "gold\ttext\nno\ta\nno\tb\n"
    Tsv.write(tmp_path / "out", read(written("b.tsv", "a\nb\n")), ["x", "y"], {})
    assert (tmp_path / "out").read_text() == "a\tx\nb\ty\n"
