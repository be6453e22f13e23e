import numpy as np
import pytest

from fairseq_xling.data.example import Example, Objective, Vocabulary, constant
from fairseq_xling.data.feeds import readers
from fairseq_xling.objectives import objectives


def test_every_objective_says_its_name_and_what_it_reads():
    assert {"mlm", "tlm"} <= set(objectives)
    for name in objectives:
        objective = objectives[name]
        assert issubclass(objective, Objective) and objective.name == name
        assert objective.reads in readers


def test_an_objective_without_a_method_says_which():
    with pytest.raises(NotImplementedError, match=r"^Unfinished$"):

        class Unfinished(Objective):
            name, reads = "unfinished", "mono"

        Unfinished(None, Vocabulary({}, {}))(None, None)


def test_lengths_stay_as_they_are_by_default():
    lengths = np.array([3, 9])
    assert Objective(None, Vocabulary({}, {})).max_length(lengths).tolist() == [3, 9]


def test_two_examples_do_not_share_their_extras():
    one, two = Example({}, {}), Example({}, {})
    one.extra["x"] = np.zeros(1)
    assert two.extra == {} and one.order is None


def test_a_constant_is_int64():
    assert constant(3, 2).tolist() == [3, 3] and constant(3, 2).dtype == np.int64
