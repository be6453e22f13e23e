"""The options of a task about its number format, and the passes in it."""

import types

import pytest
import torch

from fairseq_xling import checkpoints
from fairseq_xling.core.errors import UserError
from fairseq_xling.training import base
from fairseq_xling.training.precision import check_precision


def config(**changes):
    values = {
        **dict.fromkeys(("cpu_bf16", "bf16", "fp16"), False),
        **{"memory_efficient_fp16": False, "cpu": True, "cpu_precision": "fp32"},
    }
    return types.SimpleNamespace(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cpu_precision": "fp16"}, "`--cpu-precision` must be auto or fp32 or bf16, got 'fp16'"),
        ({"bf16": True}, "`--bf16` needs an accelerator; with `--cpu` take --cpu-bf16"),
        ({"fp16": True}, "`--fp16` needs an accelerator; with `--cpu` take --cpu-bf16"),
        ({"memory_efficient_fp16": True}, "`--fp16` needs an accelerator; with `--cpu` take"),
    ],
)
def test_formats_that_a_cpu_cannot_train_in_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        check_precision(config(**changes))


def test_formats_that_it_can_train_in_pass():
    check_precision(config(cpu_precision="auto"))
    check_precision(config(cpu_bf16=True))
    check_precision(config(cpu=False, bf16=True))
    check_precision(config(cpu=False, fp16=True))
    with checkpoints.building("old.pt"):  # what an older version has trained
        check_precision(config(fp16=True))


@pytest.mark.parametrize(
    ("changes", "native", "expected"),
    [
        ({}, True, torch.float32),
        ({"cpu_bf16": True}, True, torch.bfloat16),
        ({"cpu_precision": "bf16"}, True, torch.bfloat16),
        ({"cpu_precision": "auto"}, True, torch.bfloat16),
        ({"cpu_precision": "auto"}, False, torch.float32),
    ],
)
def test_a_task_computes_in_the_format_asked_for(monkeypatch, changes, native, expected):
    monkeypatch.setattr("fairseq_xling.engine.precision.cpu_has_bf16", lambda: native)
    task = object.__new__(base.Task)
    task.cfg = config(**changes)
    with task.precision():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == expected


def test_the_processor_is_asked_once_for_all_steps(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "fairseq_xling.engine.precision.cpu_has_bf16", lambda: asked.append(1) or True
    )
    task = object.__new__(base.Task)
    task.cfg = config(cpu_precision="auto")
    for _ in range(3):
        with task.precision():
            pass
    assert len(asked) == 1
