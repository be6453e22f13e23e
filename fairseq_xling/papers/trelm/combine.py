"""One model from the two that the transfer phases trained (TreLM, Algorithm 1, line 17).

The forward model (source to target) could change its upper half, the backward one its lower half,
and both everything else. So the combined model has the upper half of the first, the lower half of
the second, and the arithmetic mean of everything else: embeddings, TRILayer and heads.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from fairseq_xling.checkpoints.fresh import NEEDED, trained_by, write_fresh_checkpoint
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.provenance import provenance
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.models.identity import KEY, encode_identity, read_identity
from fairseq_xling.models.phases import LOWER, UPPER, part_of
from fairseq_xling.trained import load_trained

PHASE = "combined"
# Where the identities of the two halves differ; everything else must be equal.
_OWN = {"phase", "parent"}


def combine_states(
    forward: Mapping[str, Tensor], backward: Mapping[str, Tensor], num_layers: int
) -> dict[str, Tensor]:
    """The combined weights, from two state dicts with the same names and shapes.

    Means are computed in double precision and rounded once. Anything but floating-point numbers,
    such as a buffer of indices, is copied from the forward model.
    """
    combined = {}
    for name, upper in forward.items():
        lower, part = backward[name], part_of(name, num_layers)
        if part == UPPER or not upper.is_floating_point():
            combined[name] = upper.clone()
        elif part == LOWER:
            combined[name] = lower.clone()
        else:
            combined[name] = ((upper.double() + lower.double()) / 2).to(upper.dtype)
    return combined


def combine(forward: str | Path, backward: str | Path, output: str | Path) -> str:
    """Combine two checkpoints into a third, written atomically.

    The result is a checkpoint of fairseq before its first update, of phase ``combined``:
    ``fairseq-train --finetune-from-model``, ``fairseq-validate`` and `Encoder.load` read it.

    Returns:
        The source of each part, in one line.
    """
    prepare_engine()
    first, second = _Half(forward, "forward"), _Half(backward, "backward")
    _check_phases(first, second)
    _check_pair(first, second)
    found = (re.match(r"encoder\.layers\.(\d+)\.", name) for name in first.weights)
    layers = 1 + max((int(match[1]) for match in found if match), default=-1)
    if layers % 2:
        raise UserError(f"{forward}: halves need an even number of layers, got a model of {layers}")
    weights = combine_states(first.weights, second.weights, layers)
    weights[KEY] = encode_identity({**first.identity, "phase": PHASE})
    cfg = first.state["cfg"]
    directions = [half.state["cfg"]["task"].get("directions") for half in (first, second)]
    both = ",".join(filter(None, directions))
    cfg = {
        **cfg,
        "task": {**cfg["task"], "trelm_phase": "", "directions": both},
        "checkpoint": {**cfg["checkpoint"], "finetune_from_model": None},
    }
    write_fresh_checkpoint(
        output,
        cfg,
        weights,
        trained_by(first.state),
        {"combined": dict(provenance({"forward": forward, "backward": backward}))},
    )
    return (
        f"layers 1-{layers // 2} of {backward}, layers {layers // 2 + 1}-{layers} of {forward}, "
        "the mean of both elsewhere"
    )


class _Half:
    """A checkpoint on disk: ``state`` as fairseq wrote it, ``weights`` without the identity."""

    def __init__(self, path: str | Path, phase: str):
        self.path, self.phase = path, phase
        self.state = load_trained(path, ("cfg.checkpoint", *NEEDED))
        weights = self.state["model"]
        self.identity = read_identity(weights)
        self.weights = {k: v for k, v in weights.items() if k != KEY}


def _check_phases(first: _Half, second: _Half) -> None:
    found = [half.identity.get("phase", "") for half in (first, second)]
    swapped = found == [second.phase, first.phase]
    for half, phase in zip((first, second), found, strict=True):
        if phase != half.phase:
            hint = "; are the two files swapped?" if swapped else ""
            raise UserError(
                f"{half.path}: must be a checkpoint of phase {half.phase!r}, got one of phase "
                f"{phase or 'none'!r}{hint}"
            )


def _check_pair(first: _Half, second: _Half) -> None:
    """Raise a UserError unless both started from the same weights and have the same form."""
    between = f"{first.path} and {second.path}: halves must"
    for name in sorted((first.identity.keys() | second.identity.keys()) - _OWN):
        if first.identity.get(name) != second.identity.get(name):
            raise UserError(
                f"{between} have the same {name}, got {_show(first.identity.get(name))} and "
                f"{_show(second.identity.get(name))}"
            )
    for name in sorted(first.weights.keys() ^ second.weights.keys()):
        owner = first if name in first.weights else second
        raise UserError(f"{between} have the same parts, but only {owner.path} has {name}")
    for name in first.weights:
        one, other = (
            f"{tuple(half.weights[name].shape)} {half.weights[name].dtype}".replace("torch.", "")
            for half in (first, second)
        )
        if one != other:
            raise UserError(
                f"{between} be of the same size and precision, got {name} {one} and {other}"
            )
    parents = [half.identity.get("parent") or "unknown" for half in (first, second)]
    if parents[0] != parents[1] or parents[0] == "unknown":
        raise UserError(
            f"{between} start from the same weights, got {parents[0][:8]} and {parents[1][:8]}; "
            "start both from one checkpoint"
        )


def _show(value: Any) -> str:
    if isinstance(value, dict):  # digests of dictionaries: eight characters distinguish them
        return ", ".join(f"{lang}:{str(digest)[:8]}" for lang, digest in sorted(value.items()))
    return ",".join(value) if isinstance(value, list) else repr(value)
