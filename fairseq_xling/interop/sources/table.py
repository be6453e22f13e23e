"""Key tables: which tensor of a source becomes which of ours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError


@dataclass(frozen=True)
class KeyRow:
    """One line of a key table.

    A name that does not end in ``.weight`` or ``.bias`` stands for both, and ``{i}`` for the
    number of a layer, from 0.

    Attributes:
        ours: name in `SeparableEncoder`.
        theirs: name in the source; several are put one below the other.
        skip: rows left out at the beginning.
    """

    ours: str
    theirs: tuple[str, ...]
    skip: int = 0


def row(ours: str, *theirs: str, skip: int = 0) -> KeyRow:
    """A `KeyRow` with its names spelt out."""
    return KeyRow(ours, theirs, skip)


@dataclass(frozen=True)
class Converted:
    """The tensors under our names, the source of each, and those that no row names."""

    state: dict[str, Tensor]
    theirs: dict[str, str]
    left_out: tuple[str, ...]


def convert(
    tensors: Mapping[str, Tensor],
    table: Sequence[KeyRow],
    head: Sequence[KeyRow],
    layers: int,
    origin: str,
    inside: str,
) -> Converted:
    """Rename ``tensors`` by the rows of ``table``, and of ``head`` if any of its tensors is there.

    Everything is copied to float32.

    Args:
        layers: how many times rows with ``{i}`` apply.
        origin: the source, for messages.
        inside: pattern of the names of layers: one that no row names means another architecture,
            not an accessory such as a pooler.

    Raises:
        UserError: if a tensor is missing, or the layers have an extra one.
    """
    if layers > len(tensors):  # asked first: a row is written out for each
        raise UserError(f"{origin}: must have tensors of its {layers} layers, got {len(tensors)}")
    state: dict[str, Tensor] = {}
    theirs: dict[str, str] = {}
    used: set[str] = set()
    wanted = [entry for line in table for entry in _expand(line, layers)]
    headed = [entry for line in head for entry in _expand(line, layers)]
    if any(name in tensors for entry in headed for name in entry.theirs):
        wanted += headed
    for entry in wanted:
        for name in entry.theirs:
            if name not in tensors:
                raise UserError(f"{origin}: has no tensor `{name}`")
        parts = [tensors[name].detach().to(torch.float32) for name in entry.theirs]
        try:
            whole = torch.cat(parts) if len(parts) > 1 else parts[0].clone()
        except RuntimeError:
            shapes = ", ".join(str(tuple(part.shape)) for part in parts)
            names = ", ".join(f"`{name}`" for name in entry.theirs)
            raise UserError(f"{origin}: {names} must be equally wide, got {shapes}") from None
        state[entry.ours] = whole[entry.skip :].clone() if entry.skip else whole
        theirs[entry.ours] = entry.theirs[0]
        used.update(entry.theirs)
    left_out = tuple(sorted(set(tensors) - used))
    for name in left_out:
        if re.match(inside, name):
            raise UserError(f"{origin}: unsupported architecture: its layers have `{name}`")
    return Converted(state, theirs, left_out)


def convert_back(
    state: Mapping[str, Tensor], table: Sequence[KeyRow], layers: int
) -> dict[str, Tensor]:
    """The tensors that `convert` makes ``state`` of, where no rows were left out."""
    found: dict[str, Tensor] = {}
    for line in table:
        for entry in _expand(line, layers):
            parts = state[entry.ours].chunk(len(entry.theirs))
            found |= {n: p.clone() for n, p in zip(entry.theirs, parts, strict=True)}
    return found


def _expand(line: KeyRow, layers: int) -> list[KeyRow]:
    numbers = range(layers) if "{i}" in line.ours else [0]
    both = not line.ours.endswith((".weight", ".bias"))
    return [
        KeyRow(
            line.ours.format(i=i) + kind,
            tuple(name.format(i=i) + kind for name in line.theirs),
            line.skip,
        )
        for i in numbers
        for kind in ((".weight", ".bias") if both else ("",))
    ]
