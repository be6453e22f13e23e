"""CoNLL-2009: what is read, what is written, and the line of what is damaged."""

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.conll09 import Conll09, Frames


def row(number, *apreds, word="w", predicate=False):
    mark = ["Y", "w.01"] if predicate else ["_", "_"]
    return "\t".join([str(number), word, *"abcdefghij", *mark, *apreds]) + "\n"


TEXT = (
    row(1, "A0", "_", word="#")
    + row(2, "_", "A1", word="says", predicate=True)
    + row(3, "C-A1", "_", word="runs", predicate=True)
    + "\n"
    + row(1, word="home")
    + "\n"
)
BARE = TEXT.replace("\tA0\t_\n", "\n").replace("\t_\tA1\n", "\n").replace("\tC-A1\t_\n", "\n")


def read(written, text):
    return list(Conll09.read(written("a.conll09", text), {}))


def test_words_predicates_and_their_frames_are_read(written):
    first, second = read(written, TEXT)
    assert (first.words, first.predicates, first.line) == (("#", "says", "runs"), (1, 2), 1)
    assert first.roles == (("A0", "_", "C-A1"), ("_", "A1", "_"))
    assert (second.words, second.predicates, second.roles, second.line) == (("home",), (), (), 5)
    assert formats["conll09"] is Conll09


@pytest.mark.parametrize("text", [TEXT, TEXT[:-1], TEXT + "\n", row(1, "_", predicate=True)])
def test_gold_written_back_is_the_file_itself(written, text, tmp_path):
    items = read(written, text)
    Conll09.write(tmp_path / "b", items, [Frames(item.roles) for item in items], {})
    assert (tmp_path / "b").read_text(encoding="utf-8") == text


def test_a_file_without_frames_gets_them_and_keeps_the_rest(written, tmp_path):
    items = read(written, BARE)
    assert [item.roles for item in items] == [None, ()]
    assert items[0].predicates == (1, 2)
    frames = [Frames((("A0", "_", "C-A1"), ("_", "A1", "_"))), Frames(())]
    Conll09.write(tmp_path / "b", items, frames, {})
    assert (tmp_path / "b").read_text(encoding="utf-8") == TEXT


def test_predictions_replace_frames_and_nothing_else(written, tmp_path):
    items = read(written, TEXT)
    Conll09.write(
        tmp_path / "b", items, [Frames((("_", "X", "_"), ("_", "_", "Y"))), Frames(())], {}
    )
    ours = [line.split("\t") for line in (tmp_path / "b").read_text().splitlines()]
    theirs = [line.split("\t") for line in TEXT.splitlines()]
    assert [line[:14] for line in ours] == [line[:14] for line in theirs]
    assert [line[14:] for line in ours[:3]] == [["_", "_"], ["X", "_"], ["_", "Y"]]


def test_predicted_senses_replace_pred_and_a_number_alone_gets_the_lemma(written, tmp_path):
    items = read(written, TEXT)
    assert (items[0].lemmas, items[0].senses) == (("b", "b"), ("w.01", "w.01"))
    frames = [Frames(items[0].roles, ("say.02", ".03")), Frames(())]
    Conll09.write(tmp_path / "b", items, frames, {})
    expected = TEXT.replace("w.01", "say.02", 1).replace("w.01", "b.03")
    assert (tmp_path / "b").read_text(encoding="utf-8") == expected


def test_the_lemma_is_the_gold_one_where_there_is_no_predicted_one(written):
    text = TEXT.replace("says\ta\tb", "says\tsay\t_").replace("runs\ta\tb", "runs\t_\t_")
    assert read(written, text)[0].lemmas == ("say", "_")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (row(1) + "2\tw\n", ":2: must have at least 14 columns, got 2"),
        (row(1) + "# x\n", ":2: must have at least 14 columns, got 1"),
        (row(1) + row(3), ":2: ID must be 2, got '3'"),
        (row(1) + "\n" + row(1, word=" "), ":3: the FORM is empty"),
        (row(1).replace("\t_\t_", "\tx\t_"), ":1: FILLPRED must be Y or _, got 'x'"),
        (
            row(1, "A0") + row(2, predicate=True),
            ":2: must have 15 columns, with an APRED for each of 1 predicates, got 14",
        ),
        (
            row(1, "_", "_") + row(2, "_", "_", predicate=True),
            ":1: must have 15 columns, with an APRED for each of 1 predicates, got 16",
        ),
        (
            TEXT + row(1) + row(2, predicate=True),
            ":7: must have 15 columns, with an APRED for each of 1 predicates, got 14",
        ),
        (
            BARE + row(1, "_", predicate=True),
            ":7: must have 14 columns, with no APRED, got 15",
        ),
        (row(1, "", predicate=True), ":1: an APRED must be a role or _, got nothing"),
        (
            row(1, "_", predicate=True).replace("w.01", " "),
            ":1: the PRED of a predicate must be a sense or _, got nothing",
        ),
        (row(1) + "\n\n" + row(1), ":3: a blank line must end a sentence, got no words"),
        ("\n", ": contains no sentences"),
    ],
)
def test_a_damaged_row_is_named_with_its_line(written, text, message):
    with pytest.raises(UserError, match=f"a.conll09{message}$"):
        read(written, text)


def test_columns_are_not_to_be_chosen(written):
    with pytest.raises(UserError, match=r"`--columns` must be empty, .*, got role"):
        list(Conll09.read(written("a.conll09", TEXT), {"role": "14"}))
