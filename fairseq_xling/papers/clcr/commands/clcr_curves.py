"""Plot the distance of translations by step for several trainings: annealed, not annealed, linear.

  fairseq-xling clcr curves annealed=a1/train.log annealed=a2/train.log \\
      "no annealing=n1/train.log" linear=l1/train.log --output curves.json --figure curves.svg

Logs are those of `fairseq-train --task clcr --clcr-module transform --log-format json`, of which
the validations are read. Trainings with the same name are seeds. The phases of one training are
logs separated by commas: annealed=transform.log,lm1.log,lm2.log
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import Input
from fairseq_xling.papers.clcr.commands import finish_measure

GROUP = "CLCR"
SPEC_ROWS = ("C4", "C5")
_SPREAD = "spread_"  # logged for both languages, which reveals their codes
DISTANCES = ("distance", "relative")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.comparison import add_output

    add = parser.add_argument
    add("trainings", nargs="+", metavar=Input("TRAINING"), help="NAME=LOG or NAME=LOG,LOG")
    add("--tag", default="valid", help="which log records to read: valid, train or train_inner")
    add_output(parser)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.clcr.measures_result import curves_table, draw_curves
    from fairseq_xling.verbs.parts.comparison import check_output

    check_output(args)
    trainings = [read_training(text, args.tag) for text in args.trainings]
    names = list(trainings[0]["curves"])
    for one in trainings:
        if list(one["curves"]) != names:
            raise UserError(
                f"{one['logs'][0]}: must have {', '.join(names)} as the first training, got "
                f"{', '.join(one['curves'])}"
            )
    record: dict[str, Any] = {"clcr": "curves", "tag": args.tag, "trainings": trainings}
    header, rows = curves_table(record)
    notes = [
        f"at the end of training, on {args.tag}; several trainings of one name are seeds: mean ± "
        "standard deviation",
        "relative: D divided by the mean distance of the target's states from their mean, 1 for a "
        "transform at chance level",
    ]
    record |= {"title": "Distance of translations by training"}
    record |= {"header": header, "rows": rows, "notes": notes}
    files = {
        f"{one['name']} {number}: {log}": Path(log)
        for number, one in enumerate(trainings, start=1)
        for log in one["logs"]
    }
    finish_measure(args, record, files, draw_curves)


def read_training(text: str, tag: str) -> dict[str, Any]:
    """Of ``NAME=LOG`` or ``NAME=LOG,LOG``, the phases of one training in their order: its name,
    logs, and curves by the name of their figure, such as ``distance en-de``."""
    from fairseq_xling.runs.training_log import read_curves

    name, equals, paths = text.partition("=")
    logs = [str(Path(path)) for path in paths.split(",") if path]
    if not (equals and name.strip() and logs):
        raise UserError(f"TRAINING must look like annealed=train.log, got {text!r}")
    curves: dict[str, list[list[float]]] = {}
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
    return {"name": name.strip(), "logs": logs, "curves": dict(sorted(curves.items()))}
