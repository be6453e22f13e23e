"""A training step does not wait for the device: no number of it is asked for on the way.

On a GPU each `.item()`, `.tolist()` or copy to the host stops the queue of kernels, and so does
each operation whose result's shape depends on values. torch's hooks see them on a CPU, too.
"""

import collections
import traceback

import pytest
import torch
from fairseq.tasks.fairseq_task import FairseqTask
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# What asks for a number, and what makes a shape from values.
SCALARS = ("aten::_local_scalar_dense", "aten::equal", "aten::is_nonzero")
SHAPES = ("aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim")


class Copies(TorchFunctionMode):
    """Counts whole tensors that are handed to Python: on a CPU they pass no dispatcher."""

    names = ("tolist", "cpu", "numpy")

    def __init__(self, found):
        super().__init__()
        self.found = found

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") in self.names:
            self.found["scalar", place()] += 1
        return func(*args, **(kwargs or {}))


class Waits(TorchDispatchMode):
    """Counts the operations at which a GPU would be waited for, by kind and line of our code."""

    def __init__(self):
        super().__init__()
        self.found = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name
        if name in SCALARS:
            self.found["scalar", place()] += 1
        elif name in SHAPES or (name.startswith("aten::index") and by_mask(args)):
            self.found["shape", place()] += 1
        return func(*args, **(kwargs or {}))


def by_mask(args):
    indices = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else ()
    return any(isinstance(one, torch.Tensor) and one.dtype is torch.bool for one in indices)


def place():
    frames = [f for f in traceback.extract_stack() if "/fairseq" in f.filename]
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else "backward"


@pytest.fixture
def steps(monkeypatch):
    """The `Waits` of each training step, forward and backward, that follows."""
    seen = []
    original = FairseqTask.train_step

    def train_step(self, *args, **kwargs):
        with Waits() as waits, Copies(waits.found):
            result = original(self, *args, **kwargs)
        seen.append(waits.found)
        return result

    monkeypatch.setattr(FairseqTask, "train_step", train_step)
    return seen


def count(found, kind):
    return sum(number for (one, _), number in found.items() if one == kind)


def test_a_wait_is_seen():
    x = torch.arange(3.0)
    with Waits() as waits, Copies(waits.found):
        x.sum().item()
        x.tolist()
        x[x > 1]
        x[torch.tensor([1])]
        bool(x[0] > 1)
    assert (count(waits.found, "scalar"), count(waits.found, "shape")) == (3, 1)


# Which words are predicted is asked for by the model, by the criterion, and by the gradient.
ONCE_EACH = 3


@pytest.mark.parametrize(
    "extra",
    [
        "--objectives mlm,tlm --mix-in-batch",
        "--separate emb,1-2",
        "--task cdlm --arch tri_bert_tiny --mix-in-batch --directions en-de,de-en",
    ],
)
def test_a_step_of_a_language_model_waits_only_for_the_number_of_predicted_words(
    extra, steps, tiny_corpus, tmp_path, in_process
):
    options = f"--max-update 3 --disable-validation --no-save {extra}".split()
    in_process("train", tiny_corpus.path, tmp_path, *options)
    assert len(steps) == 3
    for found in steps:
        assert count(found, "scalar") == 0, found
        assert 0 < count(found, "shape") <= ONCE_EACH, found
