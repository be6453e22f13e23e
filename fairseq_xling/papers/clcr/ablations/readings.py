"""Readings of what CLCR leaves open (Sections 3.1 to 3.3), and its attention.

Each has what the defaults have up to where it differs.
"""

import argparse
import copy
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.options import option
from fairseq_xling.papers.clcr.ablations import (
    ClcrTaskConfig,
    Part,
    check_task,
    table_step,
    texts_of_all,
    texts_steps,
)
from fairseq_xling.papers.clcr.config import PRESETS, Text, check_config, check_sequences
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.options import add_options, load_config
from fairseq_xling.studies.ablations import STUDIES

# The stages of a training in their order; a reading shares those before the first that it changes.
STAGES = ("transform", "extract", "order")


@dataclasses.dataclass(frozen=True)
class Reading:
    """Another reading of one point.

    Attributes:
        name: of the row, and of its files.
        title: what is read.
        since: the first stage that it changes, one of `STAGES`.
        changes: settings of `clcr run`.
    """

    name: str
    title: str
    since: str = STAGES[0]
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


DEFAULTS = Reading("defaults", "settings of the configuration")
READINGS = (
    DEFAULTS,
    Reading(
        "transformed",
        "attention by dot products of transformed states",
        changes={"attention_score": "transformed"},
    ),
    Reading(
        "lm-phases",
        "attention annealed in the phases of the encoders alone (Figure 1)",
        changes={"anneal_phases": "lm1,lm2"},
    ),
    Reading(
        "finetune",
        "key-points by fine-tuned copies of the encoders (Table 2)",
        "extract",
        {"extract_encoder": "finetune"},
    ),
    Reading(
        "second",
        "the second language is put into the order of the first",
        "order",
        {"order_sides": "second"},
    ),
)


@dataclasses.dataclass(frozen=True)
class ClcrReadingsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    readings: str = option(
        "",
        "readings to compare with the defaults, of "
        f"{', '.join(one.name for one in READINGS if one is not DEFAULTS)} (default: all)",
    )

    @property
    def reading_list(self) -> list[Reading]:
        """The chosen ones, after the defaults; without a choice, those that change something."""
        named = {one.name: one for one in READINGS if one is not DEFAULTS}
        if not self.readings:
            return [DEFAULTS, *(one for one in named.values() if self._changes(one))]
        names = [name.strip() for name in self.readings.split(",")]
        for name in names:
            if name not in named:
                raise unknown_name("reading", name, [*named])
            if names.count(name) > 1:
                raise UserError(f"`--readings` must name {name!r} once")
        for name in names:
            if not self._changes(named[name]):
                raise UserError(f"`--readings` {name!r} changes nothing that is trained here")
        return [DEFAULTS, *(named[name] for name in names)]

    def _changes(self, reading: Reading) -> bool:
        """Whether a reading changes anything that is trained here."""
        trained = {"extract": self.extract_steps, "order": self.order_list}
        if not trained.get(reading.since, True):
            return False
        if "anneal_phases" in reading.changes and not self.anneal_beta:  # nothing is annealed
            return False
        return any(getattr(self, field) != value for field, value in reading.changes.items())


@STUDIES.register("clcr-readings")
class ClcrReadings:
    """One row for each other reading; the first has the settings of the configuration."""

    help = "what CLCR leaves open: attention, annealed phases, encoder of key-points, order"
    spec_rows = ("C4", "C10", "C13", "C15")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments

        add_run_arguments(parser)
        add_options(parser, ClcrReadingsConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.papers.clcr.ablations_result import write_readings
        from fairseq_xling.papers.clcr.plan import Plan
        from fairseq_xling.runs.launcher import run_steps
        from fairseq_xling.runs.settled import settle_config

        config, run = load_config(ClcrReadingsConfig, args, PRESETS), Path(args.output)
        folder, pair = check_config(config)
        check_task(config, pair)
        readings = config.reading_list
        config, settled = settle_config(run, config)
        encoded = texts_of_all(run, config)
        check_sequences(config, folder, pair, encoded)
        steps, parts = texts_steps(run, config), []
        before: dict[tuple[int, str], Any] = {}
        for reading in readings:
            part = Part(run, reading.name, config)
            for seed in config.seed_list:
                own = dataclasses.replace(config, **reading.changes)
                plan = Plan(run, own, folder, pair, seed, reading.name)
                part.artifacts.append(_stages(plan, reading, before, encoded))
                steps += plan.steps
            steps += part.classify()
            parts.append(part)
        write = functools.partial(write_readings, run, config, pair, readings, parts, list(steps))
        steps.append(table_step(run, config, "clcr-readings", parts, write))
        run_steps(run, steps, config.jobs, args, settled)


def _stages(
    plan: Any, reading: Reading, before: dict[tuple[int, str], Any], encoded: Sequence[Text]
) -> Any:
    """Plan the stages that are the reading's own, with its tables and sequences.

    Args:
        before: the files that a stage begins with, by seed and stage, where nothing has changed
            them: the first reading adds its own.
    """
    if (plan.seed, reading.since) in before:
        plan.artifacts = copy.deepcopy(before[plan.seed, reading.since])
    for stage in STAGES[STAGES.index(reading.since) :]:
        before.setdefault((plan.seed, stage), copy.deepcopy(plan.artifacts))
        if stage == "transform":
            plan.train()
            plan.label()
        elif stage == "extract":
            plan.extract()
        else:
            plan.order()
    plan.tables()
    plan.encode(encoded)
    return plan.artifacts
