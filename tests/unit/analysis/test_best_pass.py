import pytest
import torch
from torch import nn

from fairseq_xling.analysis.best_pass import BestPass


def passes(figures, patience=2, watched=1):
    """The best pass, how many there were, and the weight that stays; pass n leaves weight n."""
    network, done = nn.Linear(1, 1, bias=False), 0
    best = BestPass(network, patience, watched)
    for reached in figures:
        done += 1
        nn.init.constant_(network.weight, done)
        if best.ends(*reached):
            break
    best.restore()
    return best.epoch, done, network.weight.item()


@pytest.mark.parametrize(
    ("figures", "watched", "best", "done"),
    [
        ([(0.1,), (0.3,), (0.2,), (0.3,), (0.9,)], 1, 2, 4),  # as good as before is not better
        ([(0.0, -3.0), (0.0, -2.0), (0.0, -1.0), (0.5, -9.0)], 2, 4, 4),
        ([(0.0, -3.0), (0.0, -2.0), (0.0, -1.0), (0.5, -9.0)], 1, 3, 3),  # only the first counts
        ([(0.5, -2.0), (0.4, -1.0), (0.4, -1.5), (0.5, -1.5)], 2, 4, 4),
        ([(0.0, float("nan"))] * 9, 2, 1, 3),
    ],
)
def test_the_best_pass_is_kept_and_training_waits_for_a_better_one(figures, watched, best, done):
    assert passes(figures, watched=watched) == (best, done, float(best))


def test_the_weights_that_are_kept_do_not_follow_those_that_are_trained():
    network = nn.Linear(2, 1)
    before = network.weight.detach().clone()
    best = BestPass(network, patience=9, watched=1)
    best.ends(1.0)
    with torch.no_grad():
        network.weight.add_(1.0)
    best.ends(0.5)
    best.restore()
    assert torch.equal(network.weight, before)
