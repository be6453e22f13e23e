"""A first row of headings is no text with a class of its own."""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats.texts import Tsv

ROWS = ["good food\t5", "bad food\t1", "so so\t3", "very good\t5", "awful\t1", "fine\t3"]


@pytest.mark.parametrize(
    "heading, rows, columns, named",
    [
        ("review_body\tstars", ROWS, {}, "text=review_body,label=stars"),
        ("the review\tthe stars", ROWS, {}, "text=the review,label=the stars"),
        ("Utterance\tName", [*ROWS, *ROWS, "odd\t2"], {}, "text=Utterance,label=Name"),  # 2 is rare
        ("a\tb\tsame", [f"x y\tx z\t{n % 2}" for n in range(4)], {}, "text=a,pair=b,label=same"),
        ("quite good\t4", [*ROWS, "odd\t2"], {}, ""),  # two rare classes
        ("fine\t5", ROWS, {}, ""),
        ("review_body\tstars", ROWS, {"text": "review_body", "label": "stars"}, ""),
        ("review_body\tstars", ROWS, {"text": "0", "label": "1"}, ""),  # a row, as was said
        ("the text\t-", ROWS, {}, ""),  # no label, as annotators left it
    ],
)
def test_a_label_of_the_first_row_alone_is_doubted(heading, rows, columns, named, tmp_path):
    path = tmp_path / "file.tsv"
    path.write_text("\n".join([heading, *rows]) + "\n")
    if not named:
        headings = columns.get("text") == "review_body"
        assert len(list(Tsv.read(path, columns))) == len(rows) + (not headings)
        return
    with pytest.raises(UserError) as error:
        list(Tsv.read(path, columns))
    fields = [part.split("=")[0] for part in named.split(",")]
    numbers = ",".join(f"{field}={number}" for number, field in enumerate(fields))
    assert f"{path}:1: the label" in str(error.value)
    assert f"`--columns {named}` if it is one, else `--columns {numbers}`" in str(error.value)
