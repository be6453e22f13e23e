"""What `--patience` has counted is kept in checkpoints; fairseq forgets it."""

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.training.task import BilingualMLMTask


def test_what_patience_has_counted_survives():
    from fairseq_cli.train import should_stop_early

    task = object.__new__(BilingualMLMTask)
    assert task.get_checkpoint_dict() == {"BilingualMLMTask": {"early_stopping": {}}}
    task.set_checkpoint_dict({"early_stopping": {"best": 1.5, "num_runs": 2}})
    assert (should_stop_early.best, should_stop_early.num_runs) == (1.5, 2)
    kept = task.get_checkpoint_dict()
    should_stop_early.best = 1.0
    task.set_checkpoint_dict(kept["BilingualMLMTask"])  # fairseq looks it up by the class's name
    assert (should_stop_early.best, should_stop_early.num_runs) == (1.5, 2)
    task.set_checkpoint_dict({})  # of a checkpoint without
    del should_stop_early.best, should_stop_early.num_runs
