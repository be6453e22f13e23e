import math

import pytest
import torch

from fairseq_xling.data.sources import NEXT, NOT_NEXT
from fairseq_xling.models.auxiliary import View
from fairseq_xling.models.auxiliary.nsp import NextSentenceHead
from fairseq_xling.models.encoder import EncoderShape

SHAPE = EncoderShape(2, 8, 16, 2, 12)


@pytest.fixture
def head():
    torch.manual_seed(1)
    return NextSentenceHead(SHAPE, 2)


def view(final, labels):
    extra = {} if labels is None else {"next": torch.tensor(labels)[:, None]}
    return View({}, {}, None, extra, None, final)


def slow_loss(head, final, labels):
    """P(next) is a logistic function of the difference of the two scores, by BERT's pooler."""
    total = 0.0
    for states, label in zip(final, labels, strict=True):
        if label == 0:
            continue
        pooled = [
            math.tanh(sum(w * x for w, x in zip(row, states[0].tolist(), strict=True)) + b)
            for row, b in zip(head.pooler.weight.tolist(), head.pooler.bias.tolist(), strict=True)
        ]
        scores = [
            sum(w * x for w, x in zip(row, pooled, strict=True)) + b
            for row, b in zip(head.output.weight.tolist(), head.output.bias.tolist(), strict=True)
        ]
        chosen = 1 if label == NEXT else 0
        total -= scores[chosen] - math.log(sum(map(math.exp, scores)))
    return total


def test_the_loss_is_the_cross_entropy_of_berts_pooler_on_the_first_state(head):
    final, labels = torch.randn(5, 7, 8), [NEXT, NOT_NEXT, 0, NEXT, 0]
    loss, count = head(view(final, labels))
    assert int(count) == 3
    assert loss.item() == pytest.approx(slow_loss(head, final, labels), rel=1e-5)


def test_without_labels_there_is_nothing_to_learn(head):
    loss, count = head(view(torch.randn(3, 7, 8), None))
    assert loss.item() == 0 and int(count) == 0
