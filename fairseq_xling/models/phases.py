"""The phases of a migration: what each may train, and which phase's checkpoint it starts from.

TreLM, Section 3.2 and Algorithm 1:

    commonality  MLM on both languages; all Transformer layers are frozen
    forward      CdLM source to target; the lower half is frozen
    backward     CdLM target to source; the upper half is frozen
    (combine     upper half of forward, lower half of backward, the mean of everything else)
    language     MLM on the target language; everything is trained

Embeddings, TRILayer and heads are trained in every phase.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import Registry
from fairseq_xling.models.identity import KEY

LOWER, UPPER, REST = "lower", "upper", "rest"
_LAYER = re.compile(r"(?:^|\.)encoder\.layers\.(\d+)\.")


@dataclass(frozen=True)
class Phase:
    """One phase: the halves that it freezes, and the phases that may come before it."""

    name: str
    frozen: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


phases: Registry[Phase] = Registry("`--trelm-phase`")
for _phase in (
    Phase("commonality", frozen=(LOWER, UPPER), after=("init",)),
    Phase("forward", frozen=(LOWER,), after=("commonality", "init")),
    Phase("backward", frozen=(UPPER,), after=("commonality", "init")),
    Phase("language", after=("combined", "commonality", "init")),
):
    phases.register(_phase.name)(_phase)


def part_of(name: str, num_layers: int) -> str:
    """The part of the model that parameter ``name`` belongs to.

    >>> part_of("encoder.layers.1.shared.fc1.weight", 4), part_of("encoder.trilayer.fc1.bias", 4)
    ('lower', 'rest')
    >>> part_of("encoder.layers.2.shared.fc1.weight", 4)
    'upper'
    """
    match = _LAYER.search(name)
    if match is None:
        return REST
    return LOWER if int(match[1]) < num_layers // 2 else UPPER


def freeze(model: nn.Module, phase: str, num_layers: int) -> None:
    """Freeze what ``phase`` does not train, so that no optimiser gets it.

    Raises:
        UserError: for an unknown phase.
    """
    frozen = phases[phase].frozen
    for name, parameter in model.named_parameters():
        if part_of(name, num_layers) in frozen:
            parameter.requires_grad_(False)


def check_succession(phase: str, previous: str) -> None:
    """Raise a UserError if ``phase`` may not start from a checkpoint of phase ``previous``."""
    if phase in ("", previous) or previous in phases[phase].after:
        return
    allowed = ", ".join(repr(name) for name in phases[phase].after)
    raise UserError(
        f"`--trelm-phase {phase}` must start from a checkpoint of {allowed}, got one of phase "
        f"{previous or 'none'!r}"
    )


def fingerprint(state: Mapping[str, Tensor]) -> str:
    """A digest of all weights of a state dict, which identifies the halves of one parent."""
    digest = hashlib.sha256()
    for name in sorted(state):
        value = state[name]
        if torch.is_tensor(value) and not name.endswith(KEY):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()
