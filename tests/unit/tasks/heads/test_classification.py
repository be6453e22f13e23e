import numpy as np
import pytest
import torch

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.tsv import TextItem
from fairseq_xling.tasks.heads import IGNORE, check_labels, find_labels, heads
from fairseq_xling.tasks.heads.classification import Classification
from fairseq_xling.tasks.options import parse_options


def item(label, *texts, line=1):
    return TextItem("a.tsv", line, texts or ("the dog",), label, (), None)


@pytest.fixture
def head():
    return Classification({"label": ["no", "yes"]})


def test_labels_are_those_of_the_items_sorted():
    items = [item("yes"), item(None), item("no"), item("yes")]
    assert find_labels(Classification, items) == {"label": ["no", "yes"]}


def test_a_label_that_training_has_not_is_named_with_its_line(head):
    message = r"a.tsv:4: label 'maybe' is not among those of the training file \(no, yes\)"
    with pytest.raises(UserError, match=message):
        check_labels(head, [item("no"), item("maybe", line=4)])
    check_labels(head, [item("no"), item(None)])


def test_a_pair_is_one_row_of_two_segments(head, codec):
    encoded = head.encode(item("yes", "the dog", "the cat sees"), codec())
    (row,), (segments,) = encoded.rows, encoded.segments
    assert len(row) == 8 and segments.tolist() == [0] * 4 + [1] * 4
    assert encoded.fields["label"] == 1
    assert head.encode(item("maybe"), codec()).fields["label"] == IGNORE
    assert head.encode(item(None), codec()).fields["label"] == IGNORE


def test_only_the_first_state_counts_and_the_loss_skips_what_is_not_annotated(head):
    torch.manual_seed(0)
    network = head.network(5).eval()
    states = torch.randn(3, 4, 5)
    outputs = network(states, {})
    changed = states.clone()
    changed[:, 1:] = 7
    assert torch.equal(outputs["logits"], network(changed, {})["logits"])
    gold = torch.tensor([1, IGNORE, 0])
    total, count = head.loss(outputs, {"label": gold})
    expected = sum(-outputs["logits"][b].log_softmax(-1)[gold[b]] for b in (0, 2))
    assert int(count) == 2
    torch.testing.assert_close(total, expected)
    best = outputs["logits"].argmax(-1)
    assert head.decode(outputs, {}) == [["no", "yes"][k] for k in best]


def test_accuracy_is_the_share_of_right_labels(head):
    sums = np.sum([head.counts(item("yes"), guess) for guess in ("yes", "no", "yes", "yes")], 0)
    assert head.scores(dict(zip(head.count_names, sums, strict=True))) == {"accuracy": 75.0}


def test_its_dropout_is_a_setting(head):
    options = parse_options("--head-options", "dropout=0.5", Classification.Options)
    assert Classification({"label": ["a"]}, options).network(3).dropout.p == 0.5
    with pytest.raises(UserError, match="`--head-options`: unknown setting 'drop'; did you mean"):
        parse_options("--head-options", "drop=0.5", Classification.Options)
    with pytest.raises(UserError, match="dropout must be of type float, got 'x'"):
        parse_options("--head-options", "dropout=x", Classification.Options)
    with pytest.raises(UserError, match="`--head-options` must name 'dropout' once, got it twice"):
        parse_options("--head-options", "dropout=0,dropout=0", Classification.Options)
    with pytest.raises(UserError, match=r"dropout must lie in \[0, 1\), got 2"):
        parse_options("--head-options", "dropout=2", Classification.Options)


def test_an_unknown_head_is_answered_with_all():
    with pytest.raises(UserError, match="unknown `--head` 'classify'; did you mean"):
        heads["classify"]
