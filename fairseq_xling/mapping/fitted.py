"""Fitted maps from the states of one encoder to those of another, by layer, as a file.

Both sides are normalised as when the map was fitted, with the same means, so a map applies to
vectors that it was not fitted on. **Rows are vectors, and maps are applied from the right**: ``x @
W``.

The format is safetensors: ``layerNN.SIDE.matrix`` (D, E) and ``layerNN.SIDE.stepK``, float64, and
one metadata entry, JSON text, with everything else.

Symbols: ``N`` rows, ``D`` width of a side, ``E`` width of the common space.
"""

import dataclasses
import operator
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.array_file import ArrayFile, described_well
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.mapping.steps import ELEMENTS, Step, apply_steps, lost_in_steps, undo_steps

_FILE = ArrayFile("fairseq_xling.map", "a map (as `fairseq-xling map procrustes` writes it)")
_SIDES = ("moving", "fixed")
FITTED_ON = "fitted_on"  # a map's setting: the keys of its pairs


@dataclasses.dataclass(frozen=True)
class Side:
    """The transformation of one side's rows: normalisation, then a matrix (D, E), or none.

    Called with rows (N, D), it returns rows (N, E). A zero row, which represents a blank line,
    stays zero. Half precision is computed, and returned, as float32.
    """

    width: int
    steps: tuple[Step, ...] = ()
    matrix: Tensor | None = None

    @property
    def output_width(self) -> int:
        """E, the width of the rows that it returns."""
        return self.width if self.matrix is None else self.matrix.shape[1]

    def __call__(self, rows: Tensor) -> Tensor:
        x = self.steps_of(rows)
        return x if self.matrix is None else x @ self.matrix.to(x)

    def like(self, rows: Tensor) -> "Side":
        """The same for ``rows``: on their device, and in the type in which they are computed."""
        there = {"device": rows.device, "dtype": torch.promote_types(rows.dtype, torch.float32)}
        return Side(
            self.width,
            tuple(Step(name, value.to(**there)) for name, value in self.steps),
            None if self.matrix is None else self.matrix.to(**there),
        )

    def steps_of(self, rows: Tensor) -> Tensor:
        """Rows (N, D) after the normalisation alone."""
        if rows.dim() != 2 or rows.shape[1] != self.width:
            raise UserError(
                f"vectors to map must be rows {self.width} wide, got {tuple(rows.shape)}"
            )
        rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
        blank = ~rows.bool().any(1)
        return apply_steps(rows, self.steps).masked_fill(blank[:, None], 0)


@dataclasses.dataclass(frozen=True)
class LayerMap:
    """The map of a layer: its two sides, and figures of its fit (JSON values)."""

    moving: Side
    fixed: Side
    fit: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FittedMap:
    """A map for each of some layers.

    Attributes:
        layers: the map of each layer; 0 is the output of the embeddings.
        method: the method that fitted it.
        settings: its other settings (JSON values).
    """

    layers: Mapping[int, LayerMap]
    method: str = ""
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    def apply(self, rows: Tensor, layer: int) -> Tensor:
        """Moving rows (N, D) of ``layer`` in the common space (N, E), to be compared with `fixed`.

        Raises:
            UserError: for a layer missing from the map, or rows of another width.
        """
        return self[layer].moving(rows)

    def fixed(self, rows: Tensor, layer: int) -> Tensor:
        """Fixed rows (N, E) of ``layer`` in the common space: normalised; mapped only if both
        sides are.
        """
        return self[layer].fixed(rows)

    def carry(self, rows: Tensor, layer: int) -> Tensor:
        """Moving rows (N, D) as states (N, E) of the fixed encoder: `apply`, and the fixed side's
        normalisation undone, so that they can replace the fixed encoder's states.

        Where the normalisation set lengths to 1, each row gets its own lengths back, those that it
        had on the moving side. Between encoders that differ by a rotation that is exact.
        """
        moving, fixed = self[layer].moving, self[layer].fixed
        if fixed.matrix is not None:
            raise UserError(f"a map by {self.method!r} moves both sides, so nothing can stay fixed")
        mapped = self.apply(rows, layer)
        if not any(ELEMENTS[step.name].loses for step in fixed.steps):
            return undo_steps(mapped, fixed.steps, [None] * len(fixed.steps))
        names = [[step.name for step in side.steps] for side in (moving, fixed)]
        if names[0] != names[1]:
            raise UserError(
                "both sides must be normalised by the same steps for a map back to unnormalised "
                f"states, got {names[0]} and {names[1]}"
            )
        lost = lost_in_steps(rows.to(mapped.dtype), moving.steps)
        return undo_steps(mapped, fixed.steps, lost)

    def other_language(self, lang: str, side: str) -> str | None:
        """The language of the text that ``side`` was fitted on, if it is known and not ``lang``."""
        known = self.settings.get(side, {}).get("lang", lang)
        return None if known == lang else known

    def fitted_on(self, keys: Iterable[str]) -> int:
        """How many of ``keys``, by `pair_key`, are of pairs that the map was fitted on."""
        known = frozenset(self.settings.get(FITTED_ON, ()))
        return sum(key in known for key in keys)

    def __getitem__(self, layer: int) -> LayerMap:
        if layer not in self.layers:
            known = ", ".join(map(str, self.layers))
            raise UserError(f"`layer` must be one that the map has ({known}), got {layer}")
        return self.layers[layer]


def pack_layer(layer: LayerMap) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A layer's map as arrays (float64) by name, and JSON values."""
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, Any] = {"fit": layer.fit}
    for name in _SIDES:
        side: Side = getattr(layer, name)
        tensors = {f"{name}.step{k}": step.value for k, step in enumerate(side.steps)}
        if side.matrix is not None:
            tensors[f"{name}.matrix"] = side.matrix
        arrays |= {key: tensor.double().cpu().numpy() for key, tensor in tensors.items()}
        about[name] = {"width": side.width, "steps": [step.name for step in side.steps]}
    return arrays, about


def unpack_layer(arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> LayerMap:
    """The arguments of `pack_layer`.

    Raises:
        KeyError: if something is missing.
        TypeError: if a width is no whole number.
        ValueError: if a matrix or a step is of another width than its side, or the sides have no
            common space.
    """
    tensors = {key: torch.from_numpy(array) for key, array in arrays.items()}
    sides = []
    for name in _SIDES:
        steps = tuple(
            Step(step, tensors[f"{name}.step{k}"]) for k, step in enumerate(about[name]["steps"])
        )
        width, matrix = operator.index(about[name]["width"]), tensors.get(f"{name}.matrix")
        for step in steps:
            if step.value.shape != (ELEMENTS[step.name].size(width),):
                raise ValueError(f"step {step.name} of {name} must be of {width} values")
        if matrix is not None and (matrix.dim() != 2 or len(matrix) != width):
            raise ValueError(f"the matrix of {name} must have {width} rows")
        sides.append(Side(width, steps, matrix))
    if sides[0].output_width != sides[1].output_width:
        raise ValueError("both sides must be mapped to vectors of one width")
    return LayerMap(*sides, fit=about["fit"])


def write_map(path: str | Path, fitted: FittedMap) -> None:
    """Write ``fitted`` atomically; equal maps give equal bytes."""
    arrays, layers = {}, {}
    for number, layer in fitted.layers.items():
        own, layers[str(number)] = pack_layer(layer)
        arrays |= {f"layer{number:02d}.{name}": array for name, array in own.items()}
    about = {"method": fitted.method, "settings": fitted.settings, "layers": layers}
    _FILE.write(path, arrays, about)


def read_map(path: str | Path) -> FittedMap:
    """The map in a file that `write_map` wrote."""
    arrays, about = _FILE.read(path)
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            raise UserError(f"{path}: must contain floats, got {array.dtype} ({name})")
        if not np.isfinite(array).all():
            raise UserError(f"{path}: contains a value that is not finite ({name})")
    with described_well(path):
        layers = {}
        for number, one in sorted(about["layers"].items(), key=lambda item: int(item[0])):
            if not number.isdecimal():
                raise UserError(f"{path}: layers must be numbers from 0, got {shown(number)}")
            prefix = f"layer{int(number):02d}."
            own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            layers[int(number)] = unpack_layer(own, one)
        for side in _SIDES:
            dict(about["settings"]).get(side, {}).get("lang")
        frozenset(about["settings"].get(FITTED_ON, ()))
        return FittedMap(layers, str(about["method"]), about["settings"])
