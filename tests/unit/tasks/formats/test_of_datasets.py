"""Files that Hugging Face's datasets has written, read by us; what is wrong in such files."""

import json
import random

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.texts import read_lines
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.formats.conll import TaggedRows
from fairseq_xling.tasks.formats.squad import QuestionRows, Squad
from fairseq_xling.tasks.formats.texts import Table
from fairseq_xling.tasks.heads import find_labels, total_counts
from fairseq_xling.tasks.heads.span_qa import SpanQa
from fairseq_xling.tasks.heads.tagging import Ner

TAGS = ["O", "B-PER", "I-PER"]
SENTENCES = {
    "tokens": [["Anna", "Maria", "läuft"], ["kein", "Name"]],
    "ner_tags": [[1, 2, 0], [0, 0]],
    "langs": [["de"] * 3, ["de"] * 2],
}
CONTEXT = "Köln liegt am Rhein. 东京在日本。"
QUESTIONS = {
    "id": ["1", "2"],
    "title": ["x", "x"],
    "context": [CONTEXT, CONTEXT],
    "question": ["Wo?", "Wer?"],
    "answers": [
        {"text": ["am Rhein", "Rhein"], "answer_start": [11, 14]},
        {"text": [], "answer_start": []},
    ],
}
PAIRS = {"premise": ["a", "b", "c"], "hypothesis": ["d", "e", "f"], "label": [1, 0, -1]}
CLASSES = ["entailment", "neutral"]
FILES = ["a.parquet", "a.jsonl", "data-00000-of-00001.arrow"]


@pytest.fixture(scope="module")
def datasets():
    return pytest.importorskip("datasets", reason="datasets is not installed (extra dev)")


@pytest.fixture
def write(datasets, tmp_path, monkeypatch):
    """``write(rows, name, **kinds)``: the file that the library makes of rows, with these kinds of
    columns besides those that it infers."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))

    def call(rows, name, **kinds):
        made = datasets.Dataset.from_dict(rows)
        made = made.cast(datasets.Features({**made.features, **kinds}))
        path = tmp_path / name
        if path.suffix == ".arrow":
            made.save_to_disk(tmp_path)
        elif path.suffix == ".parquet":
            made.to_parquet(path)
        else:
            made.to_json(path, force_ascii=False)
        return path

    return call


@pytest.mark.parametrize("name", FILES)
def test_tokens_have_the_names_of_their_tags(datasets, write, name, tmp_path):
    labels = [[TAGS[tag] for tag in tags] for tags in SENTENCES["ner_tags"]]
    if name.endswith(".jsonl"):  # has no names of classes
        file = write({**SENTENCES, "ner_tags": labels}, name)
    else:
        file = write(SENTENCES, name, ner_tags=datasets.List(datasets.ClassLabel(names=TAGS)))
    items = list(TaggedRows.read(file, {}))
    assert [list(item.words) for item in items] == SENTENCES["tokens"]
    assert [list(item.tags) for item in items] == labels
    assert [item.place_of(1) for item in items] == [f"{file}:1", f"{file}:2"]
    assert find_format(Ner.format, "tagged_rows") is TaggedRows
    head = Ner(find_labels(Ner, items))
    assert head.scores(total_counts(head, items, labels))["f1"] == 100

    out = tmp_path / f"out{TaggedRows.suffix}"
    TaggedRows.write(out, items, [["O"] * 3, ["B-PER", "O"]], {})
    again = datasets.load_dataset("json", data_files=str(out), cache_dir=str(tmp_path / "c"))
    assert again["train"][1] == {"tokens": ["kein", "Name"], "ner_tags": ["B-PER", "O"]}


@pytest.mark.parametrize("name", FILES)
def test_numbers_without_names_are_tags_and_other_columns_can_be_chosen(write, name):
    rows = {"words": SENTENCES["tokens"], "upos": SENTENCES["ner_tags"]}
    found = list(TaggedRows.read(write(rows, name), {"token": "words", "tag": "upos"}))
    assert [item.tags for item in found] == [("1", "2", "0"), ("0", "0")]
    bare = list(TaggedRows.read(write({"tokens": rows["words"]}, name), {}))
    assert [item.tags for item in bare] == [None, None]


@pytest.mark.parametrize("name", FILES)
def test_questions_are_those_of_the_same_data_as_squad(datasets, write, name, tmp_path):
    file = write(QUESTIONS, name)
    found = list(QuestionRows.read(file, {}))
    answers = [{"text": "am Rhein", "answer_start": 11}, {"text": "Rhein", "answer_start": 14}]
    qas = [
        {"id": "1", "question": "Wo?", "answers": answers},
        {"id": "2", "question": "Wer?", "answers": []},
    ]
    content = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": qas}]}]}
    (tmp_path / "squad.json").write_text(json.dumps(content), encoding="utf-8")
    fields = ("id", "question", "context", "answers", "impossible")
    for one, other in zip(found, Squad.read(tmp_path / "squad.json", {}), strict=True):
        assert [getattr(one, field) for field in fields] == [getattr(other, f) for f in fields]
    assert find_format(SpanQa.format, "question_rows") is QuestionRows


def test_scores_of_questions_are_those_of_squads_script_in_torchmetrics(write):
    squad = pytest.importorskip(
        "torchmetrics.functional.text", reason="torchmetrics is not installed (extra dev)"
    ).squad
    draw, words = (
        random.Random(5),
        "The dog, an old U.S. cat; a Köln-Bonn line -- 3.5 km (东京)".split(),
    )
    rows, found = {"id": [], "context": [], "question": [], "answers": []}, []
    for number in range(60):
        context = " ".join(draw.choices(words, k=20))
        starts = [0] + [i + 1 for i, letter in enumerate(context) if letter == " "]
        # Never an answer of articles alone, which SQuAD 2.0's script counts otherwise.
        cut = [(begin, context.index(" ", begin + 9)) for begin in starts[:12]]
        gold = draw.sample(cut[:6], draw.randint(1, 3))
        found.append(draw.choice([*gold, draw.choice(cut)]))
        answers = {"text": [context[a:b] for a, b in gold], "answer_start": [a for a, _ in gold]}
        for key, value in zip(rows, (str(number), context, "what?", answers), strict=True):
            rows[key].append(value)
    items = list(QuestionRows.read(write(rows, "a.parquet"), {}))
    head = SpanQa({"answer": ["span"]})
    ours = head.scores(total_counts(head, items, found))
    pairs = zip(items, found, strict=True)
    given = [{"id": one.id, "prediction_text": one.context[a:b]} for one, (a, b) in pairs]
    gold = [{"id": i, "answers": a} for i, a in zip(rows["id"], rows["answers"], strict=True)]
    theirs = squad(given, gold)
    assert 20 < ours["em"] < ours["f1"] < 95
    assert ours["em"] == pytest.approx(float(theirs["exact_match"]))
    assert ours["f1"] == pytest.approx(float(theirs["f1"]), rel=1e-5)


@pytest.mark.parametrize("name", [FILES[0], FILES[2]])
def test_labels_of_pairs_have_their_names_and_minus_one_is_none(datasets, write, name):
    file = write(PAIRS, name, label=datasets.ClassLabel(names=CLASSES))
    chosen = {"text": "premise", "pair": "hypothesis"}
    items = list(Table.read(file, chosen))
    assert [item.label for item in items] == ["neutral", "entailment", None]
    assert list(read_lines(f"{file}:premise")) == PAIRS["premise"]


WRONG = {
    "tags that are too few": ({"tokens": ["a", "b"], "ner_tags": ["O"]}, "ner_tags` must have a"),
    "a tag that is missing": ({"tokens": ["a", "b"], "ner_tags": ["O", None]}, "got none for some"),
    "a token that is blank": ({"tokens": ["a", " "]}, "each of `tokens` is empty"),
    "tokens that are a text": ({"tokens": "a b"}, "`tokens` must be a list, got 'a b'"),
    "no tokens": ({"tokens": []}, "`tokens` is empty"),
    "no column of tokens": ({"words": ["a"]}, "has no `tokens`, only words"),
    "no object": (["a"], "a row must be an object, got ['a']"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_a_row_of_tokens_is_named_with_it(name, tmp_path):
    row, said = WRONG[name]
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"tokens": ["a"]}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(UserError) as caught:
        list(TaggedRows.read(file, {}))
    assert str(caught.value).startswith(f"{file}:2: ") and said in str(caught.value)


def test_columns_that_are_not_there_are_named(write, tmp_path):
    file = write(SENTENCES, "a.parquet")
    for columns, said in (
        ({"token": "words"}, f"{file}: has no column `words`, only tokens, ner_tags, langs"),
        ({"tag": "pos"}, f"{file}: has no column `pos`, only tokens, ner_tags, langs"),
        ({"text": "a"}, "`--columns` must name token, tag, got 'text'"),
        ({"tag": "tokens"}, "`--columns` must give token and tag a column each, got 'tokens'"),
    ):
        with pytest.raises(UserError) as caught:
            list(TaggedRows.read(file, columns))
        assert str(caught.value).startswith(said)
    (tmp_path / "none.jsonl").touch()
    with pytest.raises(UserError, match=r"none\.jsonl: contains no rows$"):
        list(TaggedRows.read(tmp_path / "none.jsonl", {}))


def test_what_is_wrong_in_a_row_of_a_question_is_named_with_it(tmp_path):
    file = tmp_path / "a.jsonl"
    good = {"id": "1", "context": "a b", "question": "c"}
    for wrong, said in (
        ({"answers": {"text": ["a"], "answer_start": [0, 2]}}, ":1: `answers` must have an"),
        ({"answers": {"text": ["a"]}}, ":1: has no `answer_start`"),
        ({"answers": {"text": ["b"], "answer_start": [0]}}, ": question '1': the answer must be"),
        ({"context": " "}, ":1: `context` is empty"),
        ({"id": 3}, ":1: `id` must be a text, got 3"),
    ):
        file.write_text(json.dumps({**good, **wrong}) + "\n")
        with pytest.raises(UserError) as caught:
            list(QuestionRows.read(file, {}))
        assert str(caught.value).startswith(f"{file}{said}")
    file.write_text((json.dumps(good) + "\n") * 2)
    with pytest.raises(UserError, match="question '1': the id occurs twice in the file"):
        list(QuestionRows.read(file, {}))


def test_a_number_beyond_the_names_and_names_that_are_none(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    table, file = pa.table({"tokens": [["a"]], "ner_tags": [[7]]}), tmp_path / "a.parquet"
    for kind, said in (
        ({"feature": {"names": ["O"]}}, "must lie in [-1, 0], got 7"),
        ({"feature": {"names": [3]}}, None),
        ({"feature": "names"}, None),
    ):
        known = json.dumps({"info": {"features": {"ner_tags": kind}}})
        parquet.write_table(table.replace_schema_metadata({"huggingface": known}), file)
        if said is None:
            assert [item.tags for item in TaggedRows.read(file, {})] == [("7",)]
            continue
        with pytest.raises(UserError) as caught:
            list(TaggedRows.read(file, {}))
        assert str(caught.value) == f"{file}:1: `ner_tags` {said}"
