"""Write a model as fairseq writes a checkpoint before its first update.

``fairseq-train --finetune-from-model``, ``fairseq-validate`` and `Encoder.load` read it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write

_NAMES = ("criterion_name", "optimizer_name")
# What `load_trained` has to find in a checkpoint for `trained_by`.
NEEDED = tuple(f"optimizer_history.-1.{name}" for name in _NAMES)


def trained_by(state: Mapping[str, Any]) -> dict[str, str]:
    """The criterion and the optimiser of a checkpoint, for one that is made from it."""
    return {name: state["optimizer_history"][-1][name] for name in _NAMES}


def write_fresh_checkpoint(
    path: str | Path,
    cfg: Mapping[str, Any],
    weights: Mapping[str, Any],
    trained_by: Mapping[str, str],
    about: Mapping[str, Any],
) -> None:
    """Write ``weights`` and the configuration ``cfg`` (plain values), atomically.

    Args:
        trained_by: ``criterion_name`` and ``optimizer_name``, which fairseq expects; see the
            function of that name.
        about: plain values that are stored with it, in ``extra_state``.

    Raises:
        UserError: if the disk is full.
    """
    state = {
        "args": None,
        "cfg": dict(cfg),
        "model": weights,
        "criterion": None,
        "optimizer_history": [{**trained_by, "lr_scheduler_state": {}, "num_updates": 0}],
        "task_state": {},
        "extra_state": {
            "train_iterator": {"epoch": 1, "iterations_in_epoch": 0, "shuffle": True},
            "val_loss": None,
            "previous_training_time": 0.0,
            **about,
        },
        "last_optimizer_state": None,
    }
    try:
        with atomic_write(path) as file:
            torch.save(state, file)
    except RuntimeError as error:  # how torch reports a full disk
        raise UserError(f"{path}: could not be written ({str(error).splitlines()[0]})") from None
