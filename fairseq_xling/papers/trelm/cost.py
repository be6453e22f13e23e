"""The cost of a migration: TreLM's Table 4, from the logs of its trainings.

The paper counts 120K steps (20K, 20K and 80K); but the transfer phase trains two models, so 140K
are run. Both sums are reported.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.runs.training_log import read_records

_PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+) \(num\. trained: ([\d,]+)\)")
_DEVICES = re.compile(r"training on (\d+) devices")
_SECONDS_PER_DAY = 86_400
# The paper counts the two halves of the transfer phase as one, and has no translator.
_NOT_COUNTED = ("backward", "translator")


@dataclass(frozen=True)
class Cost:
    """One training.

    Attributes:
        phase: its name.
        parameters, trained: of the model, and those trained in this phase.
        steps: number of optimiser steps.
        sentences, tokens: seen in total, with repetitions.
        seconds: wall time, without interruptions.
        devices: number of devices.
    """

    phase: str
    parameters: int
    trained: int
    steps: int
    sentences: int
    tokens: int
    seconds: float
    devices: int

    @property
    def device_days(self) -> float:
        return self.seconds * self.devices / _SECONDS_PER_DAY


def read_cost(phase: str, log: str | Path) -> Cost:
    """The cost of the training with this log, including all parts of a resumed one.

    Raises:
        UserError: if the log is missing or not that of a finished training.
    """
    sizes, devices = _read_head(log)
    epochs: dict[int, dict[str, float]] = {}
    for tag, record in read_records(log):
        if tag == "train":  # if an epoch was repeated after a kill, its last record counts
            epochs[int(record["train_num_updates"])] = record
    if not epochs:
        raise UserError(f"{log}: contains no finished training")
    steps = sentences = tokens = 0
    for done in sorted(epochs):
        record, new = epochs[done], done - steps
        sentences += round(new * record["train_bsz"])
        tokens += round(new * record["train_wpb"])
        steps = done
    seconds = epochs[steps].get("train_wall", 0.0)
    return Cost(phase, *sizes, steps, sentences, tokens, seconds, devices)


def _read_head(log: str | Path) -> tuple[tuple[int, int], int]:
    sizes, devices = None, 1
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            if match := _PARAMETERS.search(line):
                sizes = tuple(int(text.replace(",", "")) for text in match.groups())
            elif match := _DEVICES.search(line):
                devices = int(match[1])
                break
    if sizes is None:
        raise UserError(f"{log}: this training log has no parameter count")
    return sizes, devices


def cost_table(record: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a `cost_record`, the sums last."""
    header = ["phase", "parameters", "of them trained", "steps", "sentences a step", "tokens"]
    header += ["ms a step", "minutes", "devices", "device-days"]
    rows: list[list[Any]] = [
        [
            *(cost["phase"], cost["parameters"], cost["trained"], cost["steps"]),
            round(cost["sentences"] / max(cost["steps"], 1), 1),
            cost["tokens"],
            round(1000 * cost["seconds"] / max(cost["steps"], 1), 1),
            round(cost["seconds"] / 60, 1),
            cost["devices"],
            f"{cost['device_days']:.4f}",
        ]
        for cost in record["trainings"]
    ]
    found = record["sums"]
    minutes, days = round(found["seconds"] / 60, 1), f"{found['device_days']:.4f}"
    counted, tokens = found["steps_as_the_paper_counts"], found["tokens"]
    rows += [
        ["all, as run", None, None, found["steps"], None, tokens, None, minutes, None, days],
        ["as the paper counts", None, None, counted, *[None] * 6],
    ]
    return header, rows


def sums(costs: list[Cost]) -> dict[str, Any]:
    """Totals over all trainings; the paper's count leaves one direction and the translator out."""
    return {
        "steps": sum(cost.steps for cost in costs),
        "steps_as_the_paper_counts": sum(c.steps for c in costs if c.phase not in _NOT_COUNTED),
        "tokens": sum(cost.tokens for cost in costs),
        "seconds": sum(cost.seconds for cost in costs),
        "device_days": sum(cost.device_days for cost in costs),
    }


def cost_record(costs: list[Cost]) -> dict[str, Any]:
    """The same as JSON values."""
    return {
        "trainings": [{**asdict(cost), "device_days": cost.device_days} for cost in costs],
        "sums": sums(costs),
    }
