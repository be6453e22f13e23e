"""Every entry of a checkpoint has a kind, and another kind is one line."""

import copy
import math
from argparse import Namespace

import pytest

from fairseq_xling.checkpoints import TRAINED, check_layout
from fairseq_xling.checkpoints.layout import KINDS
from fairseq_xling.core.errors import UserError

ITERATOR = "extra_state.train_iterator"
WHOLE = {
    "model": {},
    "cfg": {"task": {"data": "x"}, "model": Namespace(dropout=0.1)},
    "args": None,
    "optimizer_history": [
        {
            **{"criterion_name": "C", "optimizer_name": "O", "num_updates": 3},
            "lr_scheduler_state": {"best": None, "lr": 1e-3},
        }
    ],
    "task_state": {
        **{"labels": {"label": ["a", "b"]}, "head_form": 2, "words": {"en": ["a"]}, "letters": {}}
    },
    "extra_state": {
        "best": 1.5,
        "val_loss": 2.5,
        "previous_training_time": 3.0,
        "metrics": {"default": [(10, "loss", "AverageMeter", {"val": 1.0})]},
        "BilingualMLMTask": {"early_stopping": {"best": 1.5, "num_runs": 0}},
        "train_iterator": {
            **{"version": 2, "epoch": 1, "iterations_in_epoch": 0, "shuffle": True, "shards": 2},
            **{"update_freq": 1, "num_shards": 1, "groups": 9, "groups_done": 0},
            "cursors": [{"drawn": [0], "batch": 0, "window": 0}],
            "shard_cursors": {"default": [{"drawn": [0], "batch": 0, "window": 0}]},
        },
    },
    "last_optimizer_state": {
        "state": {0: {"step": 3}},
        "param_groups": [{"params": [0], "lr": 0.1, "betas": (0.9, 0.98), "amsgrad": False}],
    },
}
PLACES = [
    place.replace("*.early", "BilingualMLMTask.early").replace("*", "default") for place in KINDS
]


def with_value(place, value):
    state = entry = copy.deepcopy(WHOLE)
    *steps, last = place.split(".")
    for step in steps:
        entry = entry[int(step) if isinstance(entry, list) else step]
    if value is KeyError:
        del entry[last]
    else:
        entry[last] = value
    return state


def test_a_whole_state_is_accepted_and_has_every_entry_of_the_table():
    check_layout(WHOLE, "x.pt", TRAINED)
    for place in PLACES:
        with_value(place, KeyError)


@pytest.mark.parametrize("place", PLACES)
def test_an_entry_of_a_wrong_kind_is_named_with_the_file_and_the_rule(place):
    for wrong in (object(), math.pi.__round__, [[]], "x" * 10_000, {1: 2}, -1, True, 10**5000):
        try:
            check_layout(with_value(place, wrong), "x.pt", TRAINED)
        except UserError as error:
            (line,) = str(error).splitlines()
            assert line.startswith("x.pt: `") and len(line) < 300
            assert " must " in line
        else:
            assert _legal(place, wrong), f"{place} = {wrong!r}"


def _legal(place, value):
    """The few of these values that are right in some place."""
    last = place.rpartition(".")[2]
    if last in ("best", "lr", "val_loss", "previous_training_time"):
        return value == -1 or value == 10**5000
    if last in ("last_optimizer_state", "state"):
        return isinstance(value, dict)
    return last in ("criterion_name", "optimizer_name") and isinstance(value, str)


@pytest.mark.parametrize("place", TRAINED)
def test_what_a_training_needs_is_asked_for(place):
    with pytest.raises(UserError, match=r"x\.pt: not a fairseq checkpoint \(it contains no "):
        check_layout(with_value(place, KeyError), "x.pt", TRAINED)
    check_layout(with_value(place, KeyError), "x.pt")


def test_settings_that_are_none_are_not_there():
    with pytest.raises(UserError, match=r"x\.pt: not a fairseq checkpoint .* no cfg.task"):
        check_layout({"cfg": {"task": None}}, "x.pt", ("cfg.task",))


@pytest.mark.parametrize(
    ("place", "wrong", "rule"),
    [
        ("optimizer_history", [3], "a list of mappings"),
        ("extra_state.metrics.default", [(1, "loss", "time", {})], "a list of meters"),
        ("extra_state.metrics.default", [(1, "loss", "__builtins__", {})], "a list of meters"),
        (f"{ITERATOR}.cursors", [{"drawn": ["a"], "batch": 0, "window": 0}], "a list of cursors"),
        (f"{ITERATOR}.cursors", [{"drawn": [0]}], "a list of cursors"),
        (f"{ITERATOR}.shard_cursors.default", [{"drawn": [0]}], "a list of cursors"),
        (f"{ITERATOR}.groups", 0, "a whole number of at least 1"),
        (f"{ITERATOR}.epoch", -1, "a whole number of at least 0"),
        (
            "last_optimizer_state.param_groups",
            [{"params": [0], "betas": "(0.9, 0.98)"}],
            "a list of an optimiser's settings",
        ),
        (
            "last_optimizer_state.param_groups",
            [{"params": [0], "lr": math.nan}],
            "a list of an optimiser's settings",
        ),
        ("task_state.labels", {"label": [1]}, "lists of names by name"),
        ("task_state.head_form", "2", "a whole number of at least 1"),
    ],
)
def test_what_is_inside_an_entry_has_a_kind_too(place, wrong, rule):
    with pytest.raises(UserError, match=f"must be {rule}"):
        check_layout(with_value(place, wrong), "x.pt", TRAINED)


def test_settings_that_hold_themselves_many_times_are_refused_at_once():
    value = ["x"]
    for _ in range(15):
        value = [value] * 10
    deep = []
    for _ in range(10_000):
        deep = [deep]
    for wrong in (value, deep):
        with pytest.raises(UserError, match=r"x\.pt: `cfg` must have at most 100000 values"):
            check_layout({**WHOLE, "cfg": {"task": {"data": wrong}}}, "x.pt", TRAINED)


def test_settings_that_refer_to_others_are_refused():
    with pytest.raises(UserError, match=r"x\.pt: `cfg\.task\.data` must not refer to another"):
        check_layout({**WHOLE, "cfg": {"task": {"data": "a ${b}"}}}, "x.pt", TRAINED)
