"""A training resumes from a state of the right kinds, or ends in one line that names the file.

The kind of each entry is tested with the table of kinds; here, what fairseq does with them.
"""

import copy
import math

import pytest
import torch

from tests.end_to_end.engine import load

ITERATOR = "extra_state/train_iterator"
LAST = "optimizer_history/-1"


@pytest.fixture(scope="module")
def trained(tiny_corpus, tmp_path_factory):
    """What two updates left, and the options of its training."""
    from tests.end_to_end.engine import in_process, training_options

    save = tmp_path_factory.mktemp("trained")
    in_process("train", *training_options(tiny_corpus.path, save, "--max-update", "2"))
    return load(save / "checkpoint_last.pt")


@pytest.fixture
def resumed(trained, tiny_corpus, tmp_path, in_process):
    """``resumed({"cfg/task": 1})``: the line that a training from such a checkpoint ends in."""

    def resume(values):
        state = copy.deepcopy(trained)
        for place, value in values.items():
            *steps, last = place.split("/")
            entry = state
            for step in steps:
                entry = entry[int(step) if isinstance(entry, list) else step]
            if isinstance(entry, list) or (last not in entry and last.isdecimal()):
                last = int(last)
            entry[last] = value(entry[last]) if callable(value) else value
        torch.save(state, tmp_path / "odd.pt")
        options = ["--restore-file", str(tmp_path / "odd.pt"), "--max-update", "3"]
        return in_process("train", tiny_corpus.path, tmp_path / "save", *options)

    return resume


def nan(tensor):
    tensor = tensor.clone()
    tensor.view(-1)[0] = math.nan
    return tensor


def moment(change):
    """A changed first moment of the first weight."""
    return lambda state: {
        number: {**entry, "exp_avg": change(entry["exp_avg"])} for number, entry in state.items()
    }


def test_the_state_itself_is_resumed(resumed):
    assert "Loaded checkpoint" in resumed({})


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({f"{ITERATOR}/groups": 10**15}, "`extra_state.train_iterator.groups` must lie in [2, "),
        ({f"{ITERATOR}/cursors": [3]}, "train_iterator.cursors` must be a list of cursors"),
        (
            {f"{LAST}/optimizer_name": "X"},
            "has the state of another optimizer, X, than `--optimizer`, ",
        ),
        ({"last_optimizer_state": {}}, "cannot be resumed (KeyError"),
        ({"last_optimizer_state/param_groups": []}, "cannot be resumed (ValueError: loaded state"),
        ({"last_optimizer_state/state": moment(nan)}, ".exp_avg` must be finite, got NaN"),
        ({"last_optimizer_state/state": moment(lambda t: t[:1])}, "`exp_avg` must have the shape"),
    ],
)
def test_a_state_of_a_wrong_kind_is_one_line(resumed, tmp_path, values, rule):
    with pytest.raises(SystemExit) as error:
        resumed(values)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"fairseq-xling: error: {tmp_path / 'odd.pt'}: ")
    assert rule in line
    assert not list((tmp_path / "save").glob("*.pt"))
