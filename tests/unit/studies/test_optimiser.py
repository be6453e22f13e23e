"""What a run says of Adam and its schedule, and what it refuses before anything is trained."""

import dataclasses

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.studies.optimiser import Optimiser, check_optimiser, optimisation


def test_only_a_schedule_with_an_end_is_told_how_long_the_training_is():
    found = optimisation(Optimiser(schedule="polynomial_decay"), 80, 0.01, 7)
    assert found[-4:] == ["--warmup-updates", "7", "--total-num-update", "80"]
    assert "--total-num-update" not in optimisation(Optimiser(), 80, 0.01, 7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schedule": "inverse_sqr"}, "`--schedule`: .*did you mean 'inverse_sqrt'"),
        ({"schedule": "triangular"}, "`--schedule` must be one with .*, got triangular"),
        ({"adam_betas": "0.9,1"}, r"`--adam-betas` must be two numbers in \[0, 1\), .*got '0.9,1'"),
        ({"adam_betas": "0.9"}, "`--adam-betas` must be two numbers"),
        ({"adam_betas": "high,low"}, "`--adam-betas` must be two numbers"),
    ],
)
def test_what_fairseq_would_reject_at_its_step_is_refused_at_once(changes, message):
    check_optimiser(Optimiser())
    with pytest.raises(UserError, match=message):
        check_optimiser(dataclasses.replace(Optimiser(), **changes))
