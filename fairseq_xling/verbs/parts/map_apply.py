"""`fairseq-xling map apply`: a mapped copy of a folder of states."""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_json, sha256, write_json
from fairseq_xling.folders import is_finished, new_folder
from fairseq_xling.mapping.fitted import FittedMap, Side, read_map
from fairseq_xling.mapping.states import BLOCK, META, Selection, States
from fairseq_xling.progress import progress
from fairseq_xling.provenance import provenance
from fairseq_xling.registry import unknown_name

SIDES = ("moving", "fixed")


def map_folder(args: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Write the folder ``args.output``: ``args.folder`` mapped by ``args.map``.

    Returns its ``meta.json``, and warnings.

    Layers missing from the map are left out; everything else is copied. A layer that a killed run
    finished is kept.

    Raises:
        UserError: if map and folder do not fit, or the output contains anything else.
    """
    if args.side not in SIDES:
        raise unknown_name("`--side`", args.side, list(SIDES))
    fitted, states, output = read_map(args.map), States(args.folder), Path(args.output)
    layers = sorted({*fitted.layers} & {*states.layers})
    if not layers:
        raise UserError(f"{args.map} and {args.folder}: have no layer in common")
    sides = {layer: getattr(fitted[layer], args.side) for layer in layers}
    for side in sides.values():
        if side.width != states.width:
            raise UserError(
                f"{args.map}: maps vectors {side.width} wide, got {states.width} in {args.folder}"
            )
    widths = {side.output_width for side in sides.values()}
    if len(widths) > 1:
        raise UserError(
            f"{args.map}: must map all layers to one width, got {' and '.join(map(str, widths))}"
        )
    note = {"map": sha256(args.map), "side": args.side, "folder": sha256(states.path / META)}
    about = read_json(states.path / META)
    settings = {**about["settings"], "layers": layers, "mapped": note}
    warnings = _other_language(fitted, states, args.side)
    if is_finished(output, settings):
        return read_json(output / META), warnings
    with new_folder(output, settings, "map apply") as partial:
        with progress(len(layers) * states.rows, "map apply", "rows") as bar:
            for layer, side in sides.items():
                if not (partial / states.file(layer).name).exists():
                    _write_layer(states, layer, side, partial)
                bar.update(states.rows)
        for path in states.path.iterdir():
            if path.is_file() and path.name != META and path not in map(states.file, states.layers):
                shutil.copyfile(path, partial / path.name)
        files = {"map": args.map, "folder": states.path / META}
        meta = {**about, "settings": settings, "width": widths.pop()}
        write_json(partial / META, {**meta, "provenance": provenance(files)})
    return read_json(output / META), warnings


def _write_layer(states: States, layer: int, side: Side, folder: Path) -> None:
    """The mapped vectors of a layer, in the folder's own type."""
    shape, dtype = (states.rows, side.output_width), states.array(layer).dtype
    about = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    # Not a file mapped into memory: a full disk would end the process with a signal.
    with atomic_write(folder / states.file(layer).name) as file:
        np.lib.format.write_array_header_1_0(file, about)
        for start in range(0, states.rows, BLOCK):
            chosen = Selection(np.arange(start, min(start + BLOCK, states.rows)))
            mapped = side(states.take(layer, chosen)).numpy()
            with np.errstate(over="ignore"):
                rows = mapped.astype(dtype)
            if not np.isfinite(rows).all():
                raise UserError(
                    f"{states.file(layer)}: mapped, its values are too large for {dtype}"
                )
            file.write(rows.tobytes())


def _other_language(fitted: FittedMap, states: States, side: str) -> list[str]:
    lang = fitted.other_language(states.lang, side)
    if lang is None:
        return []
    return [f"{states.path} is of {states.lang!r}, the map's {side} side of {lang!r} (`--side`)"]
