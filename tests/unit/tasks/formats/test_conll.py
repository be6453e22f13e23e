import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats.conll import Conll

TEXT = """# one
the\tO
dog\tB-A

# two
# words = 2

#\tO
I\tI-A
sees\tO


"""


def test_sentences_have_words_tags_and_the_lines_where_they_stand(written):
    first, second = Conll.read(written("a.conll", TEXT), {})
    assert (first.words, first.tags, first.line) == (("the", "dog"), ("O", "B-A"), 2)
    assert (second.words, second.tags, second.line) == (("#", "I", "sees"), ("O", "I-A", "O"), 8)
    assert second.place_of(2).endswith("a.conll:10")


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.rstrip("\n") + "\n",
        "a O\nb O\n",
        "\n\na B-X\n",
        "# x\n\n# y\na\tO\n",
        "# x = 1\n# O\n: O\n",
    ],
)
def test_gold_written_back_is_the_file_itself(written, tmp_path, text):
    items = list(Conll.read(written("a.conll", text), {}))
    Conll.write(tmp_path / "b.conll", items, [item.tags for item in items], {})
    assert (tmp_path / "b.conll").read_text(encoding="utf-8") == text


def test_columns_are_chosen_by_number_and_the_others_stay(written, tmp_path):
    columns = {"token": "1", "tag": "3"}
    (item,) = Conll.read(
        written("a.conll", "1\tRegnet\tweather\tO\n2\tes\tweather\tB-A\n"), columns
    )
    assert (item.words, item.tags) == (("Regnet", "es"), ("O", "B-A"))
    Conll.write(tmp_path / "b", [item], [["B-B", "O"]], columns)
    assert (tmp_path / "b").read_text() == "1\tRegnet\tweather\tB-B\n2\tes\tweather\tO\n"


def test_text_without_tags_gets_a_column(written, tmp_path):
    items = list(Conll.read(written("a.conll", "the\ndog\n\nsees\n"), {}))
    assert [item.tags for item in items] == [None, None]
    Conll.write(tmp_path / "b", items, [["O", "B-A"], ["O"]], {})
    assert (tmp_path / "b").read_text() == "the\tO\ndog\tB-A\n\nsees\tO\n"


def test_a_last_column_that_is_the_token_is_no_tag(written):
    (item,) = Conll.read(written("a.conll", "1 the\n2 dog\n"), {"token": "1"})
    assert (item.words, item.tags) == (("the", "dog"), None)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("a\tO\n\nb\tO\nc\n", {}, "a.conll:4: must have 2 columns like the rows before, got 1"),
        ("a\tO\n", {"tag": "2"}, r"a.conll:1: has no column 2 \(`tag`\), only 2 columns"),
        ("a\tO\n\t O\n", {}, "a.conll:2: the token is empty"),
        ("a\t\n", {}, "a.conll:1: the tag is empty"),
        ("a O\n O\n\t\n", {}, "a.conll:2: must have 2 columns like the rows before, got 1"),
        ("a O\n", {"tag": "0"}, "`--columns` must give token and tag a column each, got 0 for"),
        ("\n\n", {}, "a.conll: contains no sentences"),
        ("a\tO\n", {"text": "0"}, "`--columns` must name token, tag, got 'text'"),
    ],
)
def test_a_damaged_row_is_named_with_its_line(written, text, columns, message):
    with pytest.raises(UserError, match=message):
        list(Conll.read(written("a.conll", text), columns))
