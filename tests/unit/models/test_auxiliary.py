"""What every auxiliary head promises: rows count one by one, and those of others cost nothing."""

import numpy as np
import pytest
import torch

from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.data.sources import Row, Side
from fairseq_xling.models.auxiliary import AuxiliaryHead, View, auxiliary_heads
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.models.trilayer import TriEncoder
from fairseq_xling.objectives import objectives

POSITIONS = 16


def words(count, seed, lang):
    drawn = np.random.default_rng([seed, count]).integers(6, 30, count)
    return Side(np.array([CLS, *drawn, SEP]), lang)


def pair(source, target, seed):
    """A pair with a random alignment: many to one, words without one, ``</s>`` to ``</s>``."""
    order = np.random.default_rng(seed).integers(-1, source + 1, target + 2)
    order[0], order[-1] = 0, source + 1
    return Row(words(source, seed, "en"), words(target, seed, "de"), order)


def segments(first, second, seed, follows):
    tail = Side(words(second, seed + 1, "en").tokens[1:], "en")
    return Row(words(first, seed, "en"), tail, follows=follows)


# Of every kind, long and short.
ROWS = [
    ("cdlm", pair(5, 8, 1)),
    ("mlm", Row(words(12, 2, "de"))),
    ("cdlm", pair(9, 3, 3)),
    ("nsp", segments(4, 5, 4, True)),
    ("tlm", pair(4, 5, 5)),
    ("nsp", segments(2, 9, 6, False)),
    ("cdlm", pair(1, 1, 7)),
    ("mlm", Row(words(3, 8, "en"))),
    ("nsp", segments(1, 1, 9, False)),
]
KINDS = {"nsp": "nsp"}  # the objective that a head learns from, where it is not cdlm


@pytest.fixture(scope="module")
def encoder():
    torch.manual_seed(1)
    shape = EncoderShape(2, 16, 32, 4, POSITIONS, 0.0, 0.0, True, 2, init_std=0.3)
    return TriEncoder(shape, {"en": 30, "de": 30}, SharingPlan()).eval()


@pytest.fixture
def view_of(encoder, options):
    """What a head sees of a batch of rows."""

    def make(rows) -> View:
        vocabulary = Vocabulary({"en": 30, "de": 30}, {"en": 0, "de": 1})
        examples = [
            objectives[name](options(), vocabulary)(row, np.random.default_rng(3))
            for name, row in rows
        ]
        batch = collate(examples, [0] * len(rows), list(range(len(rows))), None)["net_input"]
        order = batch.get("order")
        with torch.no_grad():
            lower, upper = encoder.halves(batch["src"], batch["tgt"], order)
            middle, final = lower[-1], upper[-1]
        return View(batch["src"], batch["tgt"], order, batch.get("extra", {}), middle, final)

    return make


@pytest.fixture(params=list(auxiliary_heads))
def head(request, encoder) -> AuxiliaryHead:
    torch.manual_seed(2)
    made = auxiliary_heads[request.param](encoder.shape, 2).eval()
    made.name = request.param
    made.apply(encoder.initialise)
    return made


LONG = ("tlm", pair(13, 14, 5))  # both sides together are longer than the table of positions


def concerned(head):
    return [row for row in ROWS if row[0] == KINDS.get(head.name, "cdlm")]


def others(head):
    return [row for row in ROWS if row[0] != KINDS.get(head.name, "cdlm")]


def test_a_padded_batch_costs_the_sum_of_its_rows_alone(head, view_of):
    for rows in (ROWS, ROWS[::-1], concerned(head)):
        loss, count = head(view_of(rows))
        alone = [head(view_of([row])) for row in rows]
        assert loss.dim() == count.dim() == 0
        assert float(count) == sum(float(n) for _, n in alone) > 0
        assert loss.item() == pytest.approx(sum(x.item() for x, _ in alone), rel=1e-5)


def test_a_batch_of_others_gives_every_parameter_a_gradient_of_zeros(head, view_of):
    """Not no gradient: an optimiser treats both differently, and so would two workers."""
    for rows in (others(head), [("mlm", ROWS[1][1]), ("mlm", ROWS[7][1])]):
        head.zero_grad()
        loss, count = head(view_of(rows))
        assert loss.item() == 0 and float(count) == 0  # and not a number that is none
        loss.backward()
        for name, parameter in head.named_parameters():
            assert parameter.grad is not None, name
            assert (parameter.grad == 0).all(), name


def test_a_pair_longer_than_the_table_of_positions_is_no_matter(head, view_of):
    """TLM's positions start again with the second side, so such inputs are allowed."""
    loss, count = head(view_of([LONG, *ROWS]))
    expected, expected_count = head(view_of(ROWS))
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert float(count) == float(expected_count)


def test_its_own_rows_teach_every_parameter(head, view_of):
    loss, _ = head(view_of(ROWS))
    assert torch.isfinite(loss) and loss.item() > 0
    loss.backward()
    for name, parameter in head.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        assert (parameter.grad != 0).any(), name


def test_a_head_says_whether_it_needs_a_trilayer(head, view_of):
    view = view_of(concerned(head))
    without = View(view.src, view.tgt, view.order, view.extra, None, view.final)
    if head.needs_middle:
        with pytest.raises((TypeError, AttributeError)):
            head(without)
    else:
        assert torch.equal(head(without)[0], head(view)[0])
