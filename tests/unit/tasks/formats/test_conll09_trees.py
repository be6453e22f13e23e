"""CoNLL-2009 as input of parsing."""

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats import find_format, formats
from fairseq_xling.tasks.formats.conll09_trees import Conll09Trees
from fairseq_xling.tasks.formats.conllu import TaggedTree, Tree
from fairseq_xling.tasks.heads import find_labels, total_counts
from fairseq_xling.tasks.heads.parsing import Parsing, ParsingOptions

# ID FORM LEMMA PLEMMA POS PPOS FEAT PFEAT HEAD PHEAD DEPREL PDEPREL FILLPRED PRED APRED
TEXT = """1\t他\t他\t他\tPN\tNN\t_\t_\t2\t9\tSBJ\tX\t_\t_\tA0
2\t来\t来\t来\tVV\tVV\t_\t_\t0\t9\tROOT\tX\tY\t来.01\t_
3\t。\t。\t。\tPU\tNN\t_\t_\t2\t1\tUNK\tX\t_\t_\t_

1\t好\t好\t好\tVA\tVA\t_\t_\t0\t0\tROOT\tROOT\t_\t_

"""


def read(written, text):
    return list(Conll09Trees.read(written("a.conll09", text), {}))


@pytest.mark.row("E4")
def test_gold_columns_are_read_and_the_predicted_ones_are_not(written):
    first, second = read(written, TEXT)
    assert (first.words, first.upos) == (("他", "来", "。"), ("PN", "VV", "PU"))
    assert first.tree == Tree((2, 0, 2), ("SBJ", "ROOT", "UNK"))
    assert (second.words, second.line) == (("好",), 5)
    assert find_format("conllu", "conll09_trees") is formats["conll09_trees"] is Conll09Trees


@pytest.mark.row("E4")
@pytest.mark.parametrize(("punctuation", "words"), [("keep", 4), ("drop", 4), ("drop:PU", 3)])
def test_gold_scores_a_hundred_and_punctuation_is_left_out_by_its_tag(written, punctuation, words):
    items = read(written, TEXT)
    head = Parsing(find_labels(Parsing, items), ParsingOptions(punctuation=punctuation))
    sums = total_counts(head, items, [item.tree for item in items])
    assert head.scores(sums) == {"uas": 100.0, "las": 100.0}
    assert sums["words"] == words


def test_gold_written_back_is_the_file_itself_and_predictions_change_their_columns(
    written, tmp_path
):
    items = read(written, TEXT)
    Conll09Trees.write(tmp_path / "b", items, [item.tree for item in items], {})
    assert (tmp_path / "b").read_text(encoding="utf-8") == TEXT
    found = [TaggedTree((0, 1, 1), ("a", "b", "c"), ("X", "Y", "Z")), Tree((0,), ("d",))]
    Conll09Trees.write(tmp_path / "c", items, found, {})
    rows = [line.split("\t") for line in (tmp_path / "c").read_text("utf-8").splitlines() if line]
    assert [(row[4], row[8], row[10]) for row in rows] == [
        ("X", "0", "a"),
        ("Y", "1", "b"),
        ("Z", "1", "c"),
        ("VA", "0", "d"),
    ]
    old = [line.split("\t") for line in TEXT.splitlines() if line]
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
    assert old in TEXT
    with pytest.raises(UserError, match=message):
        read(written, TEXT.replace(old, new, 1))


def test_columns_are_fixed(written):
    with pytest.raises(UserError, match="`--columns` must be empty, since CoNLL-2009 has fixed"):
        list(Conll09Trees.read(written("a", TEXT), {"token": "1"}))
