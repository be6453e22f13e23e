"""`fairseq-xling map procrustes` and similar: two folders of states in, a map for each layer out;
and `map apply`: a mapped copy of a folder of states.

Symbols: ``R`` rows of a folder, ``D`` width.
"""

import dataclasses
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from fairseq_xling.analysis.extracted import common_layers
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.files import (
    atomic_write,
    check_files,
    read_json,
    sha256,
    write_json,
)
from fairseq_xling.core.folders import is_finished, new_folder, work_folder
from fairseq_xling.core.progress import progress
from fairseq_xling.core.provenance import provenance
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.mapping.fit import fit_layer
from fairseq_xling.mapping.fitted import (
    FITTED_ON,
    FittedMap,
    LayerMap,
    Side,
    pack_layer,
    read_map,
    unpack_layer,
    write_map,
)
from fairseq_xling.mapping.normalize import parse_steps
from fairseq_xling.mapping.paired import PAIRED, PairedMethod
from fairseq_xling.mapping.pairs import PAIRS, Pairs
from fairseq_xling.mapping.states import BLOCK, META, Selection, States
from fairseq_xling.mapping.steps import parse_elements, passes
from fairseq_xling.reports.page import fact
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made, write_record
from fairseq_xling.verbs.parts.comparison import LAYER

SIDES = ("moving", "fixed")


def fit_map(method: str, options: Any, kind: str, given: Sequence[str], own: Any) -> Record:
    """Fit a map for each layer, and write it to ``options.output`` with its record next to it.

    A layer that a killed run finished is not fitted again, and the result is the same.

    Args:
        options: ``moving`` and ``fixed`` (folders), ``layers``, ``normalize``, ``output``.
        kind, given, own: of the pairs, the files that they are in, and their options.
    """
    started = time.monotonic()
    solver = PAIRED[method]()
    normalize = ",".join(parse_steps(options.normalize)) or "none"
    parse_elements(normalize)
    if Path(options.output).is_dir():
        raise UserError(f"`--output` {options.output}: is a folder, not a file")
    if len(given) != PAIRS[kind].reads:
        wanted = "a file" if PAIRS[kind].reads else "no file"
        raise UserError(f"`--pairs {kind}` expects {wanted}, got {', '.join(given) or 'none'}")
    check_files(*given)
    file = Path(given[0]) if given else None
    moving, fixed = States(options.moving), States(options.fixed)
    if solver.square and moving.width != fixed.width:
        others = ", ".join(f"`map {name}`" for name in PAIRED if not PAIRED[name].square)
        raise UserError(
            f"`map {method}` needs states of one width, got {moving.width} in {moving.path} and "
            f"{fixed.width} in {fixed.path} ({others} does not)"
        )
    layers = list(common_layers(moving, fixed, options.layers))
    pairs = PAIRS[kind](moving, fixed, file, own)
    settings = {
        "pairs": kind,
        "normalize": normalize,
        "moving": {"lang": moving.lang, "unit": moving.unit},
        "fixed": {"lang": fixed.lang, "unit": fixed.unit},
    }
    files = {"moving": moving.path / META, "fixed": fixed.path / META}
    if file is not None:
        files["pairs"] = file
    stats = [states.file(n).stat() for states in (moving, fixed) for n in layers]
    changes = [[one.st_size, one.st_mtime_ns] for one in stats]
    identity = [
        [method, settings, dataclasses.asdict(own), pairs.count, changes],
        {role: sha256(path) for role, path in files.items()},
    ]
    found: dict[int, LayerMap] = {}
    rows = passes(normalize) * (moving.rows + fixed.rows) + pairs.count  # read for a layer
    with (
        work_folder(options.output, identity) as work,
        progress(rows * len(layers), f"map {method}", "rows") as bar,
    ):
        for number, layer in enumerate(layers, start=1):
            kept = work.find(f"layer{layer:02d}")
            if kept is None:
                found[layer] = _fit(solver, moving, fixed, pairs, layer, normalize, bar.update)
                work.keep(f"layer{layer:02d}", *pack_layer(found[layer]))
            else:
                found[layer] = unpack_layer(*kept)
            bar.update(rows * number - bar.n)
        known = {**settings, FITTED_ON: sorted(set(pairs.keys))}
        write_map(options.output, FittedMap(found, method, known))
        facts = {"method": method, "settings": {**settings, "layers": layers}, "pairs": pairs.facts}
        fits = {layer: one.fit for layer, one in found.items()}
        few, width = pairs.count, min(moving.width, fixed.width)
        warning = (
            f"{few} pairs for {width} dimensions: the map fits the directions that the pairs span, "
            "and all others arbitrarily; give more pairs"
        )
        warnings = [warning] if few < width else []
        record = made(record_of(facts, fits, warnings), files)
        record = dataclasses.replace(record, seconds=round(time.monotonic() - started, 1))
        write_record(f"{options.output}.json", record)
    return record


def record_of(
    facts: Mapping[str, Any], fits: Mapping[int, Mapping[str, Any]], warnings: Sequence[str]
) -> Record:
    """How well the pairs fit, by layer, and how it is shown; ``fits`` are those of `fit_layer`."""
    settings = facts["settings"]
    moving, fixed = (settings[side] for side in SIDES)
    about = {"study": "map states", "row": facts["method"], "source": moving["lang"]}
    about |= {"target": fixed["lang"], "unit": "mean over the pairs"}
    compared = {"measure": ["cosine unmapped", "cosine"]}
    chart = Chart("bars", compared, row="measure", panel="unit", ylabel="cosine, {unit}")
    if len(fits) > 1:
        chart = dataclasses.replace(chart, kind="curve", xlabel=LAYER)
    said = ", ".join(f"{name}: {fact(value)}" for name, value in facts["pairs"].items())
    notes = [
        f"pairs: {settings['pairs']}" + (f" ({said})" if said else ""),
        "cosine: of all pairs together, after normalisation of both sides by "
        f"{settings['normalize']}, without and with the map",
    ]
    return Record(
        f"Map by {facts['method']}, {moving['lang']} ({moving['unit']}) to {fixed['lang']} "
        f"({fixed['unit']})",
        [
            {**about, "layer": layer, "measure": name.replace("_", " "), "value": fits[layer][name]}
            for layer in sorted(fits)
            for name in ("pairs", "blank", "cosine_unmapped", "cosine")
            if name in fits[layer]
        ],
        (Section("By layer", Table({"layer": "layer"}), chart, notes),),
        source="Emerging Cross-lingual Structure (Conneau et al., 2020), 5.1",
        lead=warnings,
        facts=facts,
    )


def _fit(
    solver: PairedMethod,
    moving: States,
    fixed: States,
    pairs: Pairs,
    layer: int,
    normalize: str,
    update: Callable[[int], object],
) -> LayerMap:
    def all_of(states: States) -> Iterator[Tensor]:
        for block in states.vectors(layer):
            yield block
            update(len(block))

    def matched() -> Iterator[tuple[Tensor, Tensor]]:
        for one, other in pairs:
            yield moving.take(layer, one), fixed.take(layer, other)
            update(len(one))

    sides = [(states.width, lambda states=states: all_of(states)) for states in (moving, fixed)]
    with about(f"{moving.path} and {fixed.path}, layer {layer}"):
        return fit_layer(solver, *sides, matched(), normalize)


def map_folder(options: Any) -> tuple[dict[str, Any], list[str]]:
    """Write the folder ``options.output``: ``options.folder`` mapped by ``options.map``.

    Returns its ``meta.json``, and warnings.

    Layers missing from the map are left out; everything else is copied. A layer that a killed run
    finished is kept.
    """
    if options.side not in SIDES:
        raise unknown_name("`--side`", options.side, list(SIDES))
    fitted, states, output = read_map(options.map), States(options.folder), Path(options.output)
    layers = sorted({*fitted.layers} & {*states.layers})
    if not layers:
        raise UserError(f"{options.map} and {options.folder}: have no layer in common")
    sides = {layer: getattr(fitted[layer], options.side) for layer in layers}
    for side in sides.values():
        if side.width != states.width:
            raise UserError(
                f"{options.map}: maps vectors {side.width} wide, got {states.width} in "
                f"{options.folder}"
            )
    widths = {side.output_width for side in sides.values()}
    if len(widths) > 1:
        raise UserError(
            f"{options.map}: must map all layers to one width, got {' and '.join(map(str, widths))}"
        )
    note = {"map": sha256(options.map), "side": options.side, "folder": sha256(states.path / META)}
    about = read_json(states.path / META)
    settings = {**about["settings"], "layers": layers, "mapped": note}
    warnings = []
    if (lang := fitted.other_language(states.lang, options.side)) is not None:
        said = f"is of {states.lang!r}, the map's {options.side} side of {lang!r} (`--side`)"
        warnings = [f"{states.path} {said}"]
    if is_finished(output, settings):
        return read_json(output / META), warnings
    _ = states.lines  # which is copied: refused here if it is damaged
    with new_folder(output, settings, "map apply") as partial:
        with progress(len(layers) * states.rows, "map apply", "rows") as bar:
            for layer, side in sides.items():
                if not (partial / states.file(layer).name).exists():
                    _write_layer(states, layer, side, partial)
                bar.update(states.rows)
        for path in states.path.iterdir():
            if path.is_file() and path.name != META and path not in map(states.file, states.layers):
                shutil.copyfile(path, partial / path.name)
        files = {"map": options.map, "folder": states.path / META}
        meta = {**about, "settings": settings, "width": widths.pop()}
        write_json(partial / META, {**meta, "provenance": provenance(files)})
    return read_json(output / META), warnings


def _write_layer(states: States, layer: int, side: Side, folder: Path) -> None:
    """The mapped vectors of a layer, in the folder's own type."""
    shape, dtype = (states.rows, side.output_width), states.arrays[layer].dtype
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
