"""Readings of what CLCR leaves open, each with what the defaults have up to where it differs."""

import argparse
import copy
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.config import PRESETS, check_config, check_sequences
from fairseq_xling.studies.clcr.readings_config import STAGES, ClcrReadingsConfig, Reading
from fairseq_xling.studies.clcr.readings_result import FILES, write_readings
from fairseq_xling.studies.clcr.run import Outcome, Plan
from fairseq_xling.studies.clcr.task_config import check_task, texts_of_all
from fairseq_xling.studies.clcr.task_steps import Part, texts_steps
from fairseq_xling.studies.clcr.texts import Text


def run_clcr_readings(args: argparse.Namespace) -> None:
    """See `fairseq_xling.studies.ablations.clcr_readings`.

    Raises:
        UserError: for bad settings, missing input, or a step that fails.
    """
    config, run = load_config(ClcrReadingsConfig, args, PRESETS), Path(args.output)
    folder, pair = check_config(config)
    check_task(config, pair)
    readings = config.reading_list
    config, settled = settle_config(run, config)
    encoded = texts_of_all(run, config)
    check_sequences(config, folder, pair, encoded)
    steps, parts = texts_steps(run, config), []
    before: dict[tuple[int, str], Outcome] = {}
    for reading in readings:
        part = Part(run, reading.name, config)
        for seed in config.seed_list:
            plan = _plan(run, config, folder, pair, seed, reading)
            part.outcomes.append(_stages(plan, reading, before, encoded))
            steps += plan.steps
        steps += part.classify()
        parts.append(part)
    steps.append(_table_step(run, config, pair, readings, parts, list(steps)))
    run_steps(run, steps, config.jobs, args, settled)


def _plan(
    run: Path,
    config: ClcrReadingsConfig,
    folder: DataFolder,
    pair: tuple[str, str],
    seed: int,
    reading: Reading,
) -> Plan:
    own = dataclasses.replace(config, **reading.changes)
    return Plan(run, own, folder, pair, seed, reading.name)


def _stages(
    plan: Plan, reading: Reading, before: dict[tuple[int, str], Outcome], encoded: Sequence[Text]
) -> Outcome:
    """Plan the stages that are the reading's own, with its tables and sequences.

    Args:
        before: the files that a stage begins with, by seed and stage, where nothing has changed
            them: the first reading adds its own.
    """
    if (plan.seed, reading.since) in before:
        plan.outcome = copy.deepcopy(before[plan.seed, reading.since])
    for stage in STAGES[STAGES.index(reading.since) :]:
        before.setdefault((plan.seed, stage), copy.deepcopy(plan.outcome))
        if stage == "transform":
            plan.train()
            plan.label()
        elif stage == "extract":
            plan.extract()
        else:
            plan.order()
    plan.tables()
    plan.encode(encoded)
    return plan.outcome


def _table_step(
    run: Path,
    config: ClcrReadingsConfig,
    pair: tuple[str, str],
    readings: Sequence[Reading],
    parts: Sequence[Part],
    steps: Sequence[Step],
) -> Step:
    return Step(
        "table",
        call=functools.partial(write_readings, run, config, pair, readings, parts, steps),
        settings={"config": dataclasses.asdict(config), "kind": "clcr-readings"},
        inputs=[path for part in parts for path in part.results],
        outputs=[run / name for name in FILES],
    )
