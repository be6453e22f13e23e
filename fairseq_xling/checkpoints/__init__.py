"""What a checkpoint may contain, and what it may have built.

A checkpoint is someone else's file. That it holds plain data alone (torch's ``weights_only``) does
not make it harmless: its settings name classes of fairseq, some of which evaluate an option as
Python. So everything is checked once, where a file is read and before anything is built from it:
its `layout`, its `tensors`, and what it asks to be `served`. What is then
built may not exceed the `budget` of its weights.
"""

from collections.abc import Mapping
from typing import Any

from fairseq_xling.checkpoints.archive import check_archive
from fairseq_xling.checkpoints.budget import (
    Budget,
    building,
    check_complete,
    check_layers,
    current,
    no_larger_than,
    origin,
    reading,
    reason,
    settings_of_file,
)
from fairseq_xling.checkpoints.layout import TRAINED, check_layout, settings_of
from fairseq_xling.checkpoints.served import check_architecture, check_served, fits, is_project
from fairseq_xling.checkpoints.tensors import check_kinds, check_tensors, unwrapped
from fairseq_xling.core.errors import UserError, shown


def check_optimizer(state: Mapping[str, Any], path: Any) -> None:
    """Reject an optimiser's state with values that are not numbers.

    Args:
        state: what `check_layout` has accepted.
    """
    import torch

    kept = (state.get("last_optimizer_state") or {}).get("state") or {}
    place, found = "last_optimizer_state.state", {}
    for number, entry in kept.items():
        if not isinstance(entry, dict):
            raise UserError(f"{path}: `{place}.{number}` must be a mapping, got {shown(entry)}")
        for name, value in entry.items():
            if torch.is_tensor(value):
                found[f"{number}.{name}"] = value
            elif not (value is None or isinstance(value, bool | int | float | list | tuple)):
                where = f"{place}.{number}.{name}"
                raise UserError(f"{path}: `{where}` must be a number, got {shown(value)}")
    check_tensors(found, path, place)


def check_restored(optimizer: Any, path: Any) -> None:
    """Reject a state that does not fit the weights that it moves."""
    import torch

    inner = getattr(getattr(optimizer, "fp32_optimizer", optimizer), "optimizer", None)
    for parameter, entry in getattr(inner, "state", {}).items():
        tensors = {name: value for name, value in entry.items() if torch.is_tensor(value)}
        for name, value in tensors.items():
            # A factored second moment has fewer dimensions, and a counter has none.
            if value.dim() == parameter.dim() and value.shape != parameter.shape:
                raise UserError(
                    f"{path}: the optimiser's `{name}` must have the shape "
                    f"{tuple(parameter.shape)} of its weight, got {tuple(value.shape)}"
                )


__all__ = [
    "TRAINED",
    "Budget",
    "building",
    "check_architecture",
    "check_archive",
    "check_complete",
    "check_kinds",
    "check_layers",
    "check_layout",
    "check_optimizer",
    "check_restored",
    "check_served",
    "check_tensors",
    "current",
    "fits",
    "is_project",
    "no_larger_than",
    "origin",
    "reading",
    "reason",
    "settings_of",
    "settings_of_file",
    "unwrapped",
]
