"""CoNLL-2009: what is read, what is written, and the line of what is damaged.

CoNLL-2009 as input of parsing.
"""

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats import find_format, formats
from fairseq_xling.tasks.formats.conll09 import Conll09, Conll09Trees, Frames
from fairseq_xling.tasks.formats.conllu import TaggedTree, Tree
from fairseq_xling.tasks.heads import find_labels, total_counts
from fairseq_xling.tasks.heads.parsing import Parsing, ParsingOptions


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
        (row(1) + row(3), ":2: ID must be 2, got '3'"),
        (row(1) + "\n" + row(1, word=" "), ":3: the FORM is empty"),
        (row(1).replace("\t_\t_", "\tx\t_"), ":1: FILLPRED must be Y or _, got 'x'"),
        (row(1, "A0") + row(2, predicate=True), ":2: must have 15 columns, with an APRED for each"),
        (TEXT + row(1) + row(2, predicate=True), ":7: must have 15 columns, with an APRED for eac"),
        (row(1, "", predicate=True), ":1: an APRED must be a role or _, got nothing"),
        (row(1, "_", predicate=True).replace("w.01", " "), ":1: the PRED of a predicate must be a"),
        (row(1) + "\n\n" + row(1), ":3: a blank line must end a sentence, got no words"),
        ("\n", ": contains no sentences"),
    ],
)
def test_a_damaged_row_is_named_with_its_line(written, text, message):
    with pytest.raises(UserError, match=f"a.conll09{message}"):
        read(written, text)


# ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL FILLPRED PRED APRED
CONLL09_TREES_TEXT = """1\t他\t他\t他\tPN\tNN\t_\t_\t2\t9\tSBJ\tX\t_\t_\tA0
2\t来\t来\t来\tVV\tVV\t_\t_\t0\t9\tROOT\tX\tY\t来.01\t_
3\t。\t。\t。\tPU\tNN\t_\t_\t2\t1\tUNK\tX\t_\t_\t_

1\t好\t好\t好\tVA\tVA\t_\t_\t0\t0\tROOT\tROOT\t_\t_

"""


def conll09_trees_read(written, text):
    return list(Conll09Trees.read(written("a.conll09", text), {}))


def test_gold_columns_are_read_and_the_predicted_ones_are_not(written):
    first, second = conll09_trees_read(written, CONLL09_TREES_TEXT)
    assert (first.words, first.upos) == (("他", "来", "。"), ("PN", "VV", "PU"))
    assert first.tree == Tree((2, 0, 2), ("SBJ", "ROOT", "UNK"))
    assert (second.words, second.line) == (("好",), 5)
    assert find_format("conllu", "conll09_trees") is formats["conll09_trees"] is Conll09Trees


@pytest.mark.parametrize(("punctuation", "words"), [("keep", 4), ("drop", 4), ("drop:PU", 3)])
def test_gold_scores_a_hundred_and_punctuation_is_left_out_by_its_tag(written, punctuation, words):
    items = conll09_trees_read(written, CONLL09_TREES_TEXT)
    head = Parsing(find_labels(Parsing, items), ParsingOptions(punctuation=punctuation))
    sums = total_counts(head, items, [item.tree for item in items])
    assert head.scores(sums) == {"uas": 100.0, "las": 100.0}
    assert sums["words"] == words


def test_gold_written_back_is_the_file_itself_and_predictions_change_their_columns(
    written, tmp_path
):
    items = conll09_trees_read(written, CONLL09_TREES_TEXT)
    Conll09Trees.write(tmp_path / "b", items, [item.tree for item in items], {})
    assert (tmp_path / "b").read_text(encoding="utf-8") == CONLL09_TREES_TEXT
    found = [TaggedTree((0, 1, 1), ("a", "b", "c"), ("X", "Y", "Z")), Tree((0,), ("d",))]
    Conll09Trees.write(tmp_path / "c", items, found, {})
    rows = [line.split("\t") for line in (tmp_path / "c").read_text("utf-8").splitlines() if line]
    assert [(row[4], row[8], row[10]) for row in rows] == [
        ("X", "0", "a"),
        ("Y", "1", "b"),
        ("Z", "1", "c"),
        ("VA", "0", "d"),
    ]
    old = [line.split("\t") for line in CONLL09_TREES_TEXT.splitlines() if line]
    for row, before in zip(rows, old, strict=True):
        assert [x for n, x in enumerate(row) if n not in (4, 8, 10)] == [
            x for n, x in enumerate(before) if n not in (4, 8, 10)
        ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t2\t9\tSBJ", "\t4\t9\tSBJ", r":1: HEAD must be a number from 0 to 3, got '4'"),
        ("\t2\t9\tSBJ", "\t_\t9\tSBJ", r":2: HEAD must be _ as in the rows before, got '0'"),
        ("\t2\t1\tUNK", "\t2\t1\t_", r":3: DEPREL must name a relation, got '_'"),
        ("\t0\t9\tROOT", "\t1\t9\tROOT", r"a\.conll09:\d: "),  # a circle
        ("3\t。", "4\t。", r":3: ID must be 3, got '4'"),
        ("\tX\tY\t来.01\t_", "", r":2: "),
    ],
)
def test_what_is_damaged_is_refused_with_its_line(written, old, new, message):
    assert old in CONLL09_TREES_TEXT
    with pytest.raises(UserError, match=message):
        conll09_trees_read(written, CONLL09_TREES_TEXT.replace(old, new, 1))
