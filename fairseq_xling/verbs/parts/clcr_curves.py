"""The verb ``clcr curves``: D by step of several trainings, from their logs.

CLCR, section 3.1 and Figure 1: with annealed attention D falls further than without, and further
than with a linear transform. A training of several phases has a log for each; their steps are
cumulative.
"""

import argparse
import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.statistics import mean_and_spread
from fairseq_xling.runs.training_log import read_curves
from fairseq_xling.verbs.parts.comparison import check_output, finish

_SPREAD = "spread_"  # logged for both languages, which reveals their codes
_AXES = {"distance": "D", "relative": "D / spread of the target's states"}

Curve = Sequence[tuple[int, float]]  # (step, value), steps increase


@dataclasses.dataclass(frozen=True)
class Training:
    """Curves of one training by the name of their figure, such as ``distance en-de``."""

    name: str
    logs: tuple[Path, ...]
    curves: Mapping[str, Curve]


def run_curves(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.clcr_curves`.

    Raises:
        UserError: for a log that is missing or has no distances, or trainings of different pairs.
    """
    check_output(args)
    trainings = [read_training(text, args.tag) for text in args.trainings]
    names = list(trainings[0].curves)
    for one in trainings:
        if list(one.curves) != names:
            raise UserError(
                f"{one.logs[0]}: must have {', '.join(names)} as the first training, got "
                f"{', '.join(one.curves)}"
            )
    record: dict[str, Any] = {
        "clcr": "curves",
        "tag": args.tag,
        "trainings": [
            {
                "name": one.name,
                "logs": list(map(str, one.logs)),
                "curves": {name: list(map(list, curve)) for name, curve in one.curves.items()},
            }
            for one in trainings
        ],
    }
    header, rows = table(record)
    notes = [
        f"at the end of training, on {args.tag}; several trainings of one name are seeds: mean ± "
        "standard deviation",
        "relative: D divided by the mean distance of the target's states from their mean, 1 for a "
        "transform at chance level",
    ]
    title = "Distance of translations by training"
    record |= {"title": title, "header": header, "rows": rows, "notes": notes}
    files = {
        f"{one.name} {number}: {log}": log
        for number, one in enumerate(trainings, start=1)
        for log in one.logs
    }
    figure = partial(draw_curves, record) if args.figure else None
    finish(args, title, header, rows, notes, record, files, figure)


def read_training(text: str, tag: str) -> Training:
    """``NAME=LOG`` or ``NAME=LOG,LOG``, the phases of one training in their order.

    Raises:
        UserError: for anything else, a log that is missing, or one without distances.
    """
    name, equals, paths = text.partition("=")
    logs = tuple(Path(path) for path in paths.split(",") if path)
    if not (equals and name.strip() and logs):
        raise UserError(f"TRAINING must look like annealed=train.log, got {text!r}")
    curves: dict[str, list[tuple[int, float]]] = {}
    before = 0
    for log in logs:
        logged = read_curves(log, tag)
        codes = [key.removeprefix(_SPREAD) for key in logged if key.startswith(_SPREAD)]
        found = {
            f"{kind} {first}-{second}": logged[f"{kind}_{first}_{second}"]
            for kind in _AXES
            for first, second in itertools.permutations(codes, 2)
            if f"{kind}_{first}_{second}" in logged
        }
        if not found:
            raise UserError(
                f"{log}: has no distances under {tag!r}; it must be the log of `fairseq-train "
                "--task clcr --clcr-module transform --log-format json`"
            )
        for key, curve in found.items():
            curves.setdefault(key, []).extend((before + step, value) for step, value in curve)
        before += max(curve[-1][0] for curve in found.values())
    return Training(name.strip(), logs, dict(sorted(curves.items())))


def table(record: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """The last value of every curve: a row for each name, its seeds put together."""
    names = list(record["trainings"][0]["curves"])
    rows: list[list[Any]] = []
    for title, own in _by_name(record).items():
        ends = [[one["curves"][name][-1][1] for one in own] for name in names]
        steps = max(one["curves"][names[0]][-1][0] for one in own)
        rows.append([title, len(own), steps, *(mean_and_spread(end, 3) for end in ends)])
    return ["training", "seeds", "steps", *map(column, names)], rows


def column(name: str) -> str:
    """How a figure is called in a table.

    >>> column("distance en-de"), column("relative de-en")
    ('D en-de', 'relative de-en')
    """
    return name.replace("distance", "D")


def draw_curves(record: Mapping[str, Any]) -> Any:
    """A panel for each figure, a line for each name: the mean of its seeds at the steps that all
    of them have."""
    panels = []
    for name in record["trainings"][0]["curves"]:
        lines = []
        for style, (title, own) in enumerate(_by_name(record).items()):
            points = mean_curve([one["curves"][name] for one in own])
            if points:
                lines.append(
                    Line(title, *map(list, zip(*points, strict=True)), style, len(points) < 30)
                )
        kind, _, pair = name.partition(" ")
        chance = (1.0, "chance") if kind == "relative" else None
        panels.append(Panel(lines, "step", _AXES[kind], pair.replace("-", " to "), chance=chance))
    return draw(panels)


def mean_curve(curves: Sequence[Curve]) -> list[tuple[int, float]]:
    """The mean at the steps that all have.

    >>> mean_curve([[(1, 2.0), (2, 1.0)], [(1, 4.0), (3, 0.0)]])
    [(1, 3.0)]
    """
    values = [dict(map(tuple, curve)) for curve in curves]  # type: ignore[arg-type]
    steps = sorted(set.intersection(*(set(one) for one in values)))
    return [(step, statistics.fmean(one[step] for one in values)) for step in steps]


def _by_name(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in record["trainings"]:
        found.setdefault(one["name"], []).append(one)
    return found
