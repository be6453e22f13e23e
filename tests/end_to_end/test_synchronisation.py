"""A training step stays on its device: no number is asked for, and no tensor is made elsewhere.

On a GPU each `.item()`, `.tolist()` or copy from or to the host stops the queue of kernels, and so
does each operation whose result's shape depends on values. The steps here are those of a device
that is not there (`tests.pretend_device`).
"""

import contextlib

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import fairseq_xling.plugin  # noqa: F401  it registers ours
from fairseq_xling.training.base import Task
from tests.end_to_end import training_steps
from tests.pretend_device import DEVICE, MixedDevices, PretendDevice, rehearse

CASES = training_steps.cases()

# The others are slow: together they take half a minute.
FAST = ("unified_lm order", "clcr", "cross_lingual_transfer multiple_choice")

# How many shapes depend on values, such as the number of predicted words; by default none.
SHAPES = {
    "unified_lm": 1,  # words
    "unified_lm nsp": 2,  # and sentence pairs
    "unified_lm order": 4,  # words, translated rows, their words and their slots
    "unified_lm relative": 3,  # words, translated rows, their words
    "unified_lm ctc": 2,  # words, translated rows
    "unified_lm ctc alone": 2,
    "unified_lm lattice": 3,  # and slots that write a word
    "unified_lm lattice alone": 3,
    "word_alignment": 2,  # words of the source, aligned pairs
    "clcr": 2,  # words of each side
    "clcr extract": 3,  # and pivots
    "clcr extract copies": 3,
    "clcr rel": 2,  # pivots, sentences with several
    "clcr abs": 3,  # and key-points
}
# Sizes that only the device knows, read at once: widths of tensors follow from them. Where every
# row is translated, they are the batch's own; a batch that has other rows as well may be wider.
SIZES = {
    "unified_lm ctc": 1,  # source positions and words of the translated rows
    "unified_lm lattice": 1,
}


@contextlib.contextmanager
def rehearsals():
    """What each training step inside does on the device."""
    seen = []
    original = Task.train_step

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        arguments = sample, model, criterion, optimizer, update_num, ignore_grad
        seen.append(rehearse(original, self, *arguments))
        return original(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "train_step", train_step)
        yield seen


def total(found, kind):
    return sum(number for (one, _), number in found.items() if one == kind)


def allowed(table, name):
    """The entry of the case, or of its criterion."""
    return table.get(name, table.get(name.split()[0], 0))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in CASES]
)
def test_a_step_stays_on_its_device_and_waits_for_it_no_more_than_it_must(name, world, request):
    if training_steps.needs_labels(CASES[name]):
        request.getfixturevalue("labelled_world")
    with rehearsals() as steps:
        training_steps.train(world, CASES[name])
    assert len(steps) == training_steps.UPDATES
    for device in steps:
        assert not device.host, device.host
        assert total(device.waits, "scalar") <= allowed(SIZES, name), device.waits
        assert total(device.waits, "shape") <= allowed(SHAPES, name), device.waits


def test_every_task_criterion_and_model_of_ours_has_a_case():
    def ours(registry):
        return {
            name for name, kind in registry.items() if kind.__module__.startswith("fairseq_xling")
        }

    def chosen(option):
        return {options.partition(f"--{option} ")[2].split()[0] for options in CASES.values()}

    assert chosen("task") == ours(TASK_REGISTRY)
    assert chosen("criterion") == ours(CRITERION_REGISTRY)
    models = {
        MODEL_REGISTRY[name] if name in MODEL_REGISTRY else ARCH_MODEL_REGISTRY[name]
        for name in chosen("arch")
    }
    assert models == {MODEL_REGISTRY[name] for name in ours(MODEL_REGISTRY)}
    assert set(FAST) <= set(CASES) and set(SHAPES) | set(SIZES) <= set(CASES)


def test_a_wait_is_seen():
    with PretendDevice() as device:
        x = torch.arange(3.0, device=DEVICE)
        x.sum().item()
        x.tolist()
        x[x > 1]
        x[torch.arange(1, device=DEVICE)]
        bool(x[0] > 1)
        torch.repeat_interleave(x, torch.ones(3, dtype=torch.long, device=DEVICE))
        torch.repeat_interleave(x, torch.ones(3, dtype=torch.long, device=DEVICE), output_size=3)
    assert (total(device.waits, "scalar"), total(device.waits, "shape")) == (3, 2)
    assert not device.host


def test_what_is_in_memory_is_seen_and_does_not_mix_with_the_device():
    with PretendDevice() as device:
        x = torch.arange(3.0, device=DEVICE, requires_grad=True)
        (x * 2 + 1).square().sum().backward()  # numbers and gradients are no tensors in memory
        assert x.grad.cpu().tolist() == [4.0, 12.0, 20.0] and not device.host
        y = torch.zeros(3)
        with pytest.raises(MixedDevices, match="aten::add"):
            x + y
        y.to(DEVICE)
    assert sum(device.host.values()) == 2 and device.waits == {("scalar", "backward"): 1}
