import copy
import pickle

import numpy as np
import pytest
from omegaconf import OmegaConf

from fairseq_xling.data.example import Example, Objective, Vocabulary
from fairseq_xling.data.feeds import readers
from fairseq_xling.objectives import objectives


def test_every_objective_says_its_name_and_what_it_reads():
    assert {"mlm", "tlm"} <= set(objectives)
    for name in objectives:
        objective = objectives[name]
        assert issubclass(objective, Objective) and objective.name == name
        assert objective.reads in readers


def test_two_examples_do_not_share_their_extras():
    one, two = Example({}, {}), Example({}, {})
    one.extra["x"] = np.zeros(1)
    assert two.extra == {} and one.order is None


class Counting:
    """A configuration that notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        if name in ("mask_prob", "leave_unmasked"):
            self.asked.append(name)
            return 0.25
        raise AttributeError(name)


def test_an_option_is_looked_up_once_and_only_if_it_is_read():
    cfg = Counting()
    objective = Objective(cfg, Vocabulary({}, {}))
    assert [objective.cfg.mask_prob for _ in range(3)] == [0.25] * 3
    assert cfg.asked == ["mask_prob"]
    with pytest.raises(AttributeError):
        objective.cfg.other  # noqa: B018


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_options_go_with_an_objective_to_the_processes_that_make_batches(copied):
    cfg = OmegaConf.create({"mask_prob": 0.15, "twice": "${mask_prob}", "missing": "${nowhere}"})
    objective = copied(Objective(cfg, Vocabulary({}, {})))
    assert (objective.cfg.mask_prob, objective.cfg.twice) == (0.15, 0.15)
    assert copied(objective).cfg.twice == 0.15  # after it was read, too
