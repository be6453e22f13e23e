"""Plot the distance of translations by step for several trainings: annealed, not annealed, linear.

  fairseq-xling clcr measure curves annealed=a1/train.log annealed=a2/train.log \\
      "no annealing=n1/train.log" linear=l1/train.log --output curves.json --figure curves.svg

Logs are those of `fairseq-train --task clcr --clcr-module transform --log-format json`, of which
the validations are read. Trainings with the same name are seeds. The phases of one training are
logs separated by commas: annealed=transform.log,lm1.log,lm2.log
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import Input
from fairseq_xling.core.options import argument, option
from fairseq_xling.engine.training_log import read_curves
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section
from fairseq_xling.reports.rows import GIVEN
from fairseq_xling.verbs.parts.output import OutputOptions

# What is logged of each direction: what a table calls it, and its axis.
DISTANCES = {"distance": ("D", "D"), "relative": ("relative", "D / spread of the target's states")}
_SPREAD = "spread_"  # logged for both languages, which reveals their codes


@dataclasses.dataclass(frozen=True)
class _Trainings:
    trainings: tuple[str, ...] = argument("NAME=LOG or NAME=LOG,LOG", Input("TRAINING"), words="+")
    tag: str = option("valid", "which log records to read: valid, train or train_inner", metavar=())


@dataclasses.dataclass(frozen=True)
class Options(OutputOptions, _Trainings):
    """The trainings, and the files of the results."""


class Training(NamedTuple):
    """The phases of one training in their order, and (step, value) of each figure, such as
    ``distance en-de``."""

    name: str
    logs: Sequence[str]
    curves: Mapping[str, Sequence[Sequence[float]]]


def measure(options: Options) -> tuple[Record, dict[str, Path]]:
    trainings = [read_training(text, options.tag) for text in options.trainings]
    names = list(trainings[0].curves)
    for one in trainings:
        if list(one.curves) != names:
            raise UserError(
                f"{one.logs[0]}: must have {', '.join(names)} as the first training, got "
                f"{', '.join(one.curves)}"
            )
    files = {
        f"{one.name} {number}: {log}": Path(log)
        for number, one in enumerate(trainings, start=1)
        for log in one.logs
    }
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(one.name for one in trainings):
        own = [one for one in trainings if one.name == name]
        steps = max(curve[-1][0] for one in own for curve in one.curves.values())
        for seed, one in enumerate(own, start=1):
            for figure, curve in one.curves.items():
                kind, _, pair = figure.partition(" ")
                source, _, target = pair.partition("-")
                called, axis = DISTANCES[kind]
                about = {"row": name, "source": source, "target": target, "seed": seed}
                about |= {"measure": f"{called} {pair}", "axis": axis}
                about |= {"chance": 1.0} if kind == "relative" else {}
                for step, value in curve:  # infinite where a training diverged
                    known = {"value": value} if math.isfinite(value) else {}
                    rows.append({**about, "step": step, **known})
                rows[-1] |= {"seeds": len(own), "steps": steps}
    chart = Chart("curve", x="step", title="{source} to {target}", xlabel="step", ylabel="{axis}")
    notes = [
        f"at the end of training, on {options.tag}; several trainings of one name are seeds: mean "
        "± standard deviation",
        "relative: D divided by the mean distance of the target's states from their mean, 1 for a "
        "transform at chance level",
    ]
    table = Table({"training": "row", "seeds": "seeds", "steps": "steps"}, where={"steps": GIVEN})
    chart = dataclasses.replace(chart, chance="chance")
    record = Record(
        "Distance of translations by training",
        [{"paper": "clcr", "study": "clcr-curves", **row} for row in rows],
        (Section("Distance by step, and at the end", table, chart, notes, name="table"),),
        source="CLCR, 3.1, Table 1 and Figure 1",
        lead=["D is the mean distance of a transformed sentence and its translation."],
    )
    return record, files


def read_training(text: str, tag: str) -> Training:
    """That of ``NAME=LOG`` or ``NAME=LOG,LOG``."""
    name, equals, paths = text.partition("=")
    logs = [str(Path(path)) for path in paths.split(",") if path]
    if not (equals and name.strip() and logs):
        raise UserError(f"TRAINING must look like annealed=train.log, got {text!r}")
    curves: dict[str, list[Sequence[float]]] = {}
    before = 0
    for log in logs:
        logged = read_curves(log, tag)
        codes = [key.removeprefix(_SPREAD) for key in logged if key.startswith(_SPREAD)]
        found = {
            f"{kind} {first}-{second}": logged[f"{kind}_{first}_{second}"]
            for kind in DISTANCES
            for first, second in itertools.permutations(codes, 2)
            if f"{kind}_{first}_{second}" in logged
        }
        if not found:
            raise UserError(
                f"{log}: has no distances under {tag!r}; it must be the log of `fairseq-train "
                "--task clcr --clcr-module transform --log-format json`"
            )
        for key, curve in found.items():
            curves.setdefault(key, []).extend([before + step, value] for step, value in curve)
        before += max(curve[-1][0] for curve in found.values())
    return Training(name.strip(), logs, dict(sorted(curves.items())))
