import json

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.tasks.probing.examples import read_examples, write_predictions

FLAT = [
    {"text": "The cat sat .", "span1": [1, 2], "label": "NOUN", "id": 7},
    {"text": "It rains", "span1": [0, 1], "label": ["PRON", "EXPL"]},
    {"text": "It rains", "span1": [1, 2], "labels": []},
]
NESTED = [
    {
        "text": "The cat sat .",
        "info": {"source": "x"},
        "targets": [
            {"span1": [0, 1], "span2": [1, 2], "label": "det"},
            {"span1": [1, 2], "span2": [2, 3], "label": "nsubj"},
        ],
    },
    {"text": "東京 へ", "targets": [{"span1": [1, 2], "span2": [0, 1], "label": "case"}]},
]


@pytest.fixture
def written(tmp_path):
    def write(*rows):
        path = tmp_path / "rows.jsonl"
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


def test_a_row_is_a_text_with_spans_and_any_number_of_labels(written):
    found = read_examples(written(*FLAT))
    assert [one.spans for one in found] == [((1, 2),), ((0, 1),), ((1, 2),)]
    assert [one.labels for one in found] == [("NOUN",), ("PRON", "EXPL"), ()]
    assert found[2].text == "It rains" and found[2].place.endswith("rows.jsonl:3")


def test_a_text_may_have_several_targets_of_two_spans(written):
    found = read_examples(written(*NESTED))
    assert [one.spans for one in found] == [((0, 1), (1, 2)), ((1, 2), (2, 3)), ((1, 2), (0, 1))]
    assert [one.place[-1] for one in found] == ["1", "1", "2"]


def test_characters_reach_as_far_as_the_text(written):
    row = {"text": "It rains", "span1": [3, 8], "label": "x"}
    assert read_examples(written(row), "characters")[0].spans == ((3, 8),)
    with pytest.raises(UserError, match="must lie in the text's 2 tokens, first before end, got"):
        read_examples(written(row))


@pytest.mark.parametrize("rows", [FLAT, NESTED])
def test_gold_as_predictions_gives_back_the_rows(written, tmp_path, rows):
    path = written(*rows)
    gold = [one.labels for one in read_examples(path)]
    write_predictions(path, tmp_path / "out", gold)
    assert [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()] == rows


def test_predictions_take_the_place_of_the_annotation_and_may_be_several_or_none(written, tmp_path):
    path = written(FLAT[0], {"text": "a b", "span1": [0, 1], "label": "X"})
    write_predictions(path, tmp_path / "out", [["VERB", "AUX"], []])
    first, second = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert first == {**FLAT[0], "label": ["VERB", "AUX"]} and second["label"] == []
    unlabelled = written({"text": "a b", "span1": [0, 1]})
    assert read_examples(unlabelled)[0].labels is None
    write_predictions(unlabelled, tmp_path / "out", [["X"]])
    assert json.loads((tmp_path / "out").read_text())["label"] == "X"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", ":2: not JSON"),
        ([], ":2: must be an object, got"),
        ({"span1": [0, 1]}, ":2: has no `text`"),
        ({"text": "a b", "span1": [0]}, r":2: `span1` must be \[first, end\], got \[0\]"),
        ({"text": "a b", "span1": [1, 1]}, ":2: `span1` must lie in the text's 2 tokens"),
        ({"text": "a b", "span1": [0, 1], "label": 3}, ":2: `label` must be a text, got 3"),
        ({"text": "a b", "span1": [0, 1], "label": ["x", "x"]}, "must name each label once"),
        ({"text": "a b", "span1": [0, 1], "span2": [1, 2], "label": "x"}, r":2: must have 1 span"),
        ({"text": "a b", "span1": [0, 1]}, ":2: `label` must be in all rows or in none"),
        (
            {"text": "a", "targets": [{"span1": [0, 1]}, {"span1": [0, 1], "label": "x"}]},
            "targets of a text must be of one kind",
        ),
    ],
)
def test_a_row_that_breaks_the_format_is_refused_with_its_line(written, row, message):
    with pytest.raises(UserError, match=message):
        read_examples(written(FLAT[0], row))


def test_a_file_without_examples_or_unknown_offsets_are_refused(written):
    with pytest.raises(UserError, match=r"rows\.jsonl: contains no examples"):
        read_examples(written())
    with pytest.raises(UserError, match="`--offsets` must be one of tokens, characters, got 'x'"):
        read_examples(written(FLAT[0]), "x")
