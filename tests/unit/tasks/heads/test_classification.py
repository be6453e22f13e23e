"""A label for texts, and one of several candidates."""

import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.tasks.formats.choices import ChoiceItem
from fairseq_xling.tasks.formats.texts import TextItem
from fairseq_xling.tasks.heads import IGNORE, find_labels, total_counts
from fairseq_xling.tasks.heads.classification import Classification, MultipleChoice
from fairseq_xling.tasks.options import parse_options


def item(label, *texts, line=1):
    return TextItem("a.tsv", line, texts or ("the dog",), label, (), None)


@pytest.fixture
def head():
    return Classification({"label": ["no", "yes"]})


def test_labels_are_those_of_the_items_sorted():
    items = [item("yes"), item(None), item("no"), item("yes")]
    assert find_labels(Classification, items) == {"label": ["no", "yes"]}


def test_a_pair_is_one_row_of_two_segments(head, codec):
    encoded = head.encode(item("yes", "the dog", "the cat sees"), codec())
    (row,), (segments,) = encoded.rows, encoded.segments
    assert len(row) == 8 and segments.tolist() == [0] * 4 + [1] * 4
    assert encoded.fields["label"] == 1
    assert head.encode(item("maybe"), codec()).fields["label"] == IGNORE
    assert head.encode(item(None), codec()).fields["label"] == IGNORE


CANDIDATES = {"rows": torch.tensor([3]), "choice": torch.arange(3)[None]}


@pytest.mark.parametrize(
    ("head", "fields"),
    [(Classification({"label": ["no", "yes"]}), {}), (MultipleChoice({}), CANDIDATES)],
)
def test_only_the_first_state_counts(head, fields):
    network, states = head.network(5).eval(), torch.randn(3, 4, 5)
    changed = torch.cat([states[:, :1], torch.full((3, 3, 5), 7.0)], 1)
    assert torch.equal(network(states, fields)["logits"], network(changed, fields)["logits"])


def test_the_loss_skips_what_is_not_annotated(head):
    outputs = head.network(5).eval()(torch.randn(3, 4, 5), {})
    gold = torch.tensor([1, IGNORE, 0])
    total, count = head.loss(outputs, {"label": gold})
    expected = sum(-outputs["logits"][b].log_softmax(-1)[gold[b]] for b in (0, 2))
    assert int(count) == 2
    torch.testing.assert_close(total, expected)
    best = outputs["logits"].argmax(-1)
    assert head.decode(outputs, {}) == [["no", "yes"][k] for k in best]


@pytest.mark.parametrize("head", [Classification, MultipleChoice])
def test_its_dropout_is_a_setting(head):
    options = parse_options("dropout=0.5", head.Options)
    assert head({"label": ["a"]}, options).network(3).dropout.p == 0.5


LONG = "the dog cat sees a big red house in rain he ran home and slept"


def choice(label, *choices, context=None, question="who ran", line=1):
    return ChoiceItem("a.jsonl", line, question, choices or ("dog", "cat"), context, label, {})


ITEMS = [
    choice(1, "the dog", "cat", "house"),
    choice(0, "rain", "a big red house", context=LONG),
    choice(None, "he", "dog", "cat", "rain", context="the dog sees a cat"),
    choice(2, "a", "the", "in", question="he ran in the house"),
]


@pytest.fixture
def chooser():
    return MultipleChoice({})


def test_question_and_answer_come_first_and_the_passage_second(chooser, codec):
    """TreLM, Appendix A.6."""
    one, ids = codec(), codec().text
    encoded = chooser.encode(choice(1, "the dog", "cat", context="he sees"), one)
    assert [row.tolist() for row in encoded.rows] == [
        [CLS, *ids("who ran the dog"), SEP, *ids("he sees"), SEP],
        [CLS, *ids("who ran cat"), SEP, *ids("he sees"), SEP],
    ]
    assert encoded.segments[1].tolist() == [0] * 5 + [1] * 3
    assert (encoded.fields["rows"], encoded.fields["label"]) == (2, 1)


def test_the_passage_comes_first_on_request(codec):
    options = parse_options("first=passage", MultipleChoice.Options)
    one, ids = codec(), codec().text
    encoded = MultipleChoice({}, options).encode(choice(1, "cat", "the", context="he sees"), one)
    assert encoded.rows[0].tolist() == [CLS, *ids("he sees"), SEP, *ids("who ran cat"), SEP]


def test_without_context_the_question_comes_first(chooser, codec):
    encoded = chooser.encode(choice(None, "the dog", "cat", question="who\nran"), codec())
    ids = codec().text
    assert encoded.rows[0].tolist() == [CLS, *ids("who ran"), SEP, *ids("the dog"), SEP]
    assert encoded.fields["label"] == IGNORE


def test_what_is_too_long_loses_its_context_first_and_candidates_stay_apart(chooser, codec):
    short = codec(max_positions=12)
    encoded = chooser.encode(choice(0, "the big dog", "red house", context=LONG), short)
    ids = short.text
    expected = [CLS, *ids("who ran the big dog"), SEP, *ids(LONG)[:4], SEP]
    assert encoded.rows[0].tolist() == expected
    assert all(len(row) == 12 for row in encoded.rows)
    rows = chooser.encode(choice(0, LONG, LONG[4:], context=LONG, question=LONG), short).rows
    assert rows[0].tolist() != rows[1].tolist() and {len(row) for row in rows} == {12}
    message = "a.jsonl:3: 23 tokens, more than the model's 12 positions"
    with pytest.raises(UserError, match=message):
        refusing = codec(max_positions=12, too_long="refuse")
        chooser.encode(choice(0, "the big dog", "red house", context=LONG, line=3), refusing)


def test_an_item_that_is_cut_counts_once(chooser, codec, caplog):
    short = codec(max_positions=12)
    chooser.encode(choice(0, "dog", "cat", "rain", context=LONG), short)
    short.report()
    assert "1 items are longer than the model's 12 positions" in caplog.text


def test_the_loss_is_a_softmax_over_the_questions_own_candidates(chooser, batch, make_network):
    network, fields, expected = make_network(chooser), batch(chooser, ITEMS), 0.0
    outputs = network(torch.randn(sum(len(one.choices) for one in ITEMS), 3, 8), fields)
    for number, one in enumerate(ITEMS):
        scores = outputs["logits"][number, : len(one.choices)]
        if one.label is not None:
            expected += scores.exp().sum().log() - scores[one.label]
        assert chooser.decode(outputs, fields)[number] == max(
            range(len(scores)), key=lambda k, scores=scores: float(scores[k].detach())
        )
    total, terms = chooser.loss(outputs, fields)
    assert int(terms) == 3
    torch.testing.assert_close(total, expected)
    total.backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_accuracy_is_the_share_of_annotated_items_that_are_right(head, chooser):
    right = total_counts(head, [item("yes")] * 4, ["yes", "no", "yes", "yes"])
    assert head.scores(right) == {"accuracy": 75.0}
    right = total_counts(chooser, map(choice, (1, 0, None, 0, 1)), [1, 1, 1, 0, 0])
    assert chooser.scores(right) == {"accuracy": 50.0}
    assert chooser.annotated(choice(0)) and not chooser.annotated(choice(None))
    assert find_labels(MultipleChoice, [choice(1)]) == {}
