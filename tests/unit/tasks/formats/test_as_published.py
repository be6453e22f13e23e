"""The field's data sets as they come: a few rows of our own in the layout of each."""

import json

import pytest

from fairseq_xling.analysis.dictionary import read_dictionary
from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.conll import Conll, TaggedRows
from fairseq_xling.tasks.formats.texts import Tsv, Xnli
from fairseq_xling.tasks.heads import find_labels
from fairseq_xling.tasks.heads.classification import Classification
from fairseq_xling.tasks.heads.tagging import Pos
from fairseq_xling.tasks.items import parse_columns
from fairseq_xling.tasks.spans import realign_file
from fairseq_xling.text.anchors import read_entries

HEADINGS = "language gold_label sentence1_binary_parse sentence1 sentence2 promptID".split()
XNLI = [
    ("de", "neutral", "", 'Er sagte "ja".', "Sie ging.", "1"),
    ("en", "contradiction", "", "He said yes.", "He said no.", "1"),
    ("de", "-", "", "Es regnet.", "Es ist nass.", "2"),
]


def tsv(path, *rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_xnli_has_the_rows_of_a_language_and_takes_predictions_for_them(tmp_path):
    file = tsv(tmp_path / "xnli.dev.tsv", HEADINGS, *XNLI)
    items = list(Xnli.read_language(file, {}, "de"))
    assert [(item.texts, item.label, item.line) for item in items] == [
        (('Er sagte "ja".', "Sie ging."), "neutral", 2),
        (("Es regnet.", "Es ist nass."), None, 4),
    ]
    assert len(list(Xnli.read(file, {}))) == 3
    Xnli.write(tmp_path / "out", items, ["entailment", "neutral"], {})
    again = list(Xnli.read_language(tmp_path / "out", {}, "de"))
    assert [item.label for item in again] == ["entailment", "neutral"]
    with pytest.raises(UserError, match=r"xnli\.dev\.tsv: has no rows of language 'fr', only of"):
        list(Xnli.read_language(file, {}, "fr"))


def test_translated_training_text_of_xnli_is_of_one_language(tmp_path):
    rows = [("premise", "hypo", "label"), ("a b", "c", "contradictory"), ("d", "e", "neutral")]
    file = tsv(tmp_path / "multinli.train.de.tsv", *rows)
    items = list(Xnli.read_language(file, {}, "de"))
    assert [(item.texts, item.label) for item in items] == [
        (("a b", "c"), "contradiction"),
        (("d", "e"), "neutral"),
    ]


@pytest.mark.parametrize("between", ["\t", " "])
def test_dictionaries_of_muse_have_tabs_or_spaces_and_words_more_than_once(between, tmp_path):
    pairs = [("the", "die"), ("the", "der"), ("and", "und"), ("15", "15"), ("that's", "das")]
    file = tmp_path / "en-de.txt"
    file.write_text("".join(between.join(pair) + "\n" for pair in pairs), encoding="utf-8")
    assert read_dictionary(file) == pairs
    assert read_entries(file) == [(*pair, 1.0) for pair in pairs]


def written_again(form, file, columns=None):
    """The items of a file, and what the format writes for their own tags."""
    items, out = list(form.read(file, columns or {})), file.with_name("out")
    form.write(out, items, [item.tags for item in items], columns or {})
    return items, out.read_text(encoding="utf-8")


WIKIANN = "en:Paris\tB-LOC\nen:'s\tO\n\nen::\tO\n"


def test_wikianns_languages_are_no_part_of_its_tokens(tmp_path, caplog):
    (tmp_path / "a").write_text(WIKIANN)
    items, again = written_again(Conll, tmp_path / "a")
    assert [item.words for item in items] == [("Paris", "'s"), (":",)] and again == WIKIANN
    assert caplog.messages == [
        f"{tmp_path}/a: each token begins with en:, which is not read as part of it"
    ]
    row = {"tokens": ["en:Paris", "en:'s"], "ner_tags": ["B-LOC", "O"]}
    (tmp_path / "b").write_text(json.dumps(row) + "\n")
    (item,), again = written_again(TaggedRows, tmp_path / "b")
    assert item.words == ("Paris", "'s") and json.loads(again) == row


@pytest.mark.parametrize("text", ["en:Paris O\nParis O\n", "en:a O\nde:b O\n", "10: O\n10:3 O\n"])
def test_tokens_without_one_language_are_as_they_are(text, tmp_path, caplog):
    (tmp_path / "a").write_text(text)
    (item,), again = written_again(Conll, tmp_path / "a")
    assert list(item.words) == [row.split()[0] for row in text.splitlines()] and again == text
    assert not caplog.messages


def test_realigned_words_have_the_languages_of_their_characters(tmp_path):
    (tmp_path / "a").write_text("-DOCSTART-\tO\n\nzh:北\tB-LOC\nzh:京\tI-LOC\nzh:见\tO\n")
    (tmp_path / "w").write_text("北京 见\n")
    realign_file(tmp_path / "a", tmp_path / "w", tmp_path / "out", {})
    expected = "-DOCSTART-\tO\n\nzh:北京\tB-LOC\nzh:见\tO\n\n"
    assert (tmp_path / "out").read_text() == expected


@pytest.mark.parametrize("form", ["tsv", "json_lines", "xnli"])
def test_annotators_that_did_not_agree_give_no_label(form, tmp_path):
    labels = ["-", "neutral", "-"]
    if form == "json_lines":
        text = "".join(json.dumps({"text": "a b", "label": label}) + "\n" for label in labels)
    else:
        text = "".join(f"a b\tc d\t{label}\n" for label in labels)
    (tmp_path / "a").write_text(("premise\thypo\tlabel\n" if form == "xnli" else "") + text)
    items = list(formats[form].read(tmp_path / "a", {}))
    assert [item.label for item in items] == [None, "neutral", None]
    assert find_labels(Classification, items) == {"label": ["neutral"]}


@pytest.mark.parametrize(
    ("form", "text", "columns", "message"),
    [
        (Tsv, "sentence\tlabel\na b\tx\n", {}, "name them by `--columns text=sentence,label=lab"),
        (
            *(Tsv, "premise\thypo\tlabel\na\tb\tx\n", {}),
            "got ['premise', 'hypo', 'label']; name them by `--columns text=premise,pair=hypo,",
        ),
        (
            *(Tsv, "id\tText\tLabel\n1\ta\tx\n", {"text": "1", "label": "-1"}),
            "name them by `--columns text=Text,label=Label`",
        ),
        (Conll, "token\ttag\na\tX\n", {}, "got ['token', 'tag']; remove it"),
        (Conll, "id word pos\n1 a X\n", {"token": "1"}, "got ['word', 'pos']; remove it"),
    ],
)
def test_headings_that_were_not_named_are_refused(form, text, columns, message, tmp_path):
    (tmp_path / "a").write_text(text)
    with pytest.raises(UserError) as error:
        list(form.read(tmp_path / "a", columns))
    assert f"{tmp_path}/a:1: the first row must not be headings, got [" in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "start", ["-DOCSTART- -X- O O\n\n", "-DOCSTART- -DOCSTART- O O\n", "-DOCSTART-\n"]
)
@pytest.mark.parametrize("between", ["\n", ""])
def test_documents_of_conll_2002_and_2003_are_separated(start, between, tmp_path):
    text = f"{start}EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n{between}{start}Peter NNP B-NP B-PER\n"
    (tmp_path / "a").write_text(text)
    items, again = written_again(Conll, tmp_path / "a")
    assert [item.words for item in items] == [("EU", "rejects"), ("Peter",)] and again == text


def test_sources_of_germeval_are_comments(tmp_path):
    text = (
        "#\thttp://de.wikipedia.org/wiki/M\t[2009-10-17]\n1\tAm\tO\tO\n\n"
        "#\tn-tv.de vom 26.02.2005 [2005-02-26]\n1\t#\tO\tO\n2\tKöln\tB-LOC\tO\n"
    )
    (tmp_path / "a").write_text(text)
    items, again = written_again(Conll, tmp_path / "a", {"token": "1", "tag": "2"})
    assert [item.words for item in items] == [("Am",), ("#", "Köln")] and again == text
    assert items[1].tags == ("O", "B-LOC")


CONLLU = "1\t{}\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\t{}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
CONLL09 = "".join(f"{n}\t{{}}" + "\t_" * 6 + f"\t{n - 1}\t_\tx" + "\t_" * 3 + "\n" for n in (1, 2))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("conllu", CONLLU),
        ("conll09", CONLL09),
        ("conll09_trees", CONLL09),
        ("conll", "{}\tO\n{}\tB-X\n"),
        ("tagged_rows", '{{"tokens": ["{}", "{}"]}}\n'),
    ],
)
@pytest.mark.parametrize("word", ["_", "[WORD]"])
def test_sentences_whose_text_is_withheld_are_refused(form, text, word, tmp_path):
    (tmp_path / "a").write_text(text.format(word, word))
    with pytest.raises(
        UserError, match=r"a:1: must have its words, got (_|\[WORD\]) for each of 2; "
    ):
        list(formats[form].read(tmp_path / "a", {}))
    (tmp_path / "a").write_text(text.format("a", "_"))
    assert [item.words for item in formats[form].read(tmp_path / "a", {})] == [("a", "_")]


@pytest.mark.parametrize("space", ["\u00a0", "\u2028", "\u3000", "\x1f", "\x85"])
def test_only_spaces_and_tabs_separate_columns(space, tmp_path):
    text = f"10{space}000 NUM B-NP O\n{space}Euro NOUN I-NP O\n"
    (tmp_path / "a").write_text(text, encoding="utf-8", newline="\n")
    (item,), again = written_again(Conll, tmp_path / "a")
    assert item.words == (f"10{space}000", "Euro") and again.split("\n") == text.split("\n")
    (tmp_path / "a").write_text(f"a\n{space}\nb\n", encoding="utf-8", newline="\n")
    with pytest.raises(UserError, match="a:2: the token is empty"):
        list(Conll.read(tmp_path / "a", {}))
    (tmp_path / "a").write_text(f"10{space}000 zehn{space}tausend\n", encoding="utf-8")
    pair = (f"10{space}000", f"zehn{space}tausend")
    assert read_dictionary(tmp_path / "a") == [pair]
    assert read_entries(tmp_path / "a") == [(*pair, 1.0)]


CONLLU = [
    ("1-2", "du", "_", "_", "_", "_", "_", "_", "_", "_"),
    ("1", "de", "de", "ADP", "_", "_", "3", "case", "_", "_"),
    ("2", "le", "le", "DET", "_", "_", "3", "det", "_", "_"),
    ("2.1", "petit", "petit", "ADJ", "_", "_", "_", "_", "3:amod", "_"),
    ("3", "pain", "pain", "NOUN", "_", "_", "0", "root", "_", "_"),
]
NUMBERED = [("1", "EU", "B-ORG"), ("2", "rejects", "O"), ("3", ".", "O")]


@pytest.mark.parametrize("columns", ["token=-1,tag=1", "token=2,tag=0", "token=3,tag=1"])
def test_tags_are_not_read_as_tokens(columns, tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n")
    with pytest.raises(UserError, match=r"^\S+x\.conll:1: tokens must be words, got tags, B-"):
        list(formats["conll"].read(path, parse_columns(columns)))


@pytest.mark.parametrize("rows", [CONLLU, NUMBERED], ids=["CoNLL-U", "WikiAnn"])
def test_numbers_of_rows_are_not_read_as_tokens(rows, tmp_path):
    file = tsv(tmp_path / "a.tsv", *rows, ("",), *rows)
    with pytest.raises(UserError, match=r"a\.tsv:1: tokens must be words, got the numbers of rows"):
        list(Conll.read(file, {}))
    if rows is NUMBERED:
        items = list(Conll.read(file, {"token": "1", "tag": "2"}))
        assert [item.words for item in items] == [("EU", "rejects", ".")] * 2


def test_sentences_of_numbers_are_read_as_tokens(tmp_path):
    file = tsv(tmp_path / "a.tsv", ("1", "O"), ("2", "O"), ("",), ("Goal", "O"))
    assert [item.words for item in Conll.read(file, {})] == [("1", "2"), ("Goal",)]


@pytest.mark.parametrize("row", [0, 3], ids=["multiword token", "empty node"])
def test_rows_of_conllu_that_are_no_words_are_refused(row, tmp_path):
    file = tsv(tmp_path / "a.conllu", *CONLLU[row : row + 2])
    with pytest.raises(
        UserError, match=rf"a\.conllu:1: must be a word, got {CONLLU[row][0]}, a mu"
    ):
        list(Conll.read(file, {"token": "1", "tag": "3"}))


def test_words_without_a_part_of_speech_are_refused_among_others(tmp_path):
    file = tsv(tmp_path / "fr.tsv", ("du", "_"), ("de", "ADP"), ("le", "DET"), ("",), ("x", "_"))
    mixed, bare = Conll.read(file, {})
    with pytest.raises(UserError, match=r"fr\.tsv:1: each word must have a tag, got _; remove mu"):
        Pos.check(mixed)
    Pos.check(bare)


@pytest.mark.parametrize("blank", "\t ")
def test_identifiers_of_multiconer_are_comments(blank, tmp_path):
    comment = f"# id 0f2d0cf5-1c2d-4d2c-8f53-0ebcf4a5e1f4{blank}domain=en"
    (tmp_path / "a").write_text(f"\n{comment}\nthe _ _ O\nnile _ _ B-LOC\n\n\n{comment}\nx _ _ O\n")
    items = list(Conll.read(tmp_path / "a", {}))
    assert [item.words for item in items] == [("the", "nile"), ("x",)]
    Conll.write(tmp_path / "b", items, [item.tags for item in items], {})
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


@pytest.mark.parametrize("first", [("CCAT",), ("tr", "PAST")], ids=["MLDoc", "SentEval"])
def test_texts_are_not_learnt_as_labels(first, tmp_path):
    file = tsv(tmp_path / "a.tsv", *((*first, f"Text {number}.") for number in range(20)))
    items = list(Tsv.read(file, {}))
    with pytest.raises(UserError, match=r"a\.tsv: labels must occur more than once, got 20 diff"):
        find_labels(Classification, items)
    columns = {"text": "-1", "label": str(len(first) - 1)}
    assert find_labels(Classification, Tsv.read(file, columns)) == {"label": [first[-1]]}


@pytest.mark.parametrize("columns", [{}, {"text": "text"}])
def test_a_table_with_commas_is_no_text(columns, tmp_path):
    file = tsv(tmp_path / "a.csv", ("text,label",), ("a dog,1",))
    with pytest.raises(
        UserError, match=r"a\.csv:[12]: columns must be separated by tabs, got none"
    ):
        list(Tsv.read(file, columns))
