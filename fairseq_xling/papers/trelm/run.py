"""`fairseq-xling trelm run` and the studies of TreLM: their steps, and their execution.

`inputs` reads and checks the settings, `migration` has the steps (its docstring is the overview);
`autoregressive`, `teacher` and `transfers` those of models to compare with. `results` reads what
they leave, `record` says how it is shown.
"""

import argparse
import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.autoregressive import add_autoregressive
from fairseq_xling.papers.trelm.config import (
    AUTOREGRESSIVE,
    TrelmConfig,
    names_in,
    result_settings,
)
from fairseq_xling.papers.trelm.inputs import (
    InputSummary,
    check_config,
    read_config,
    read_shape,
    summarize_inputs,
)
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.papers.trelm.record import RUN_FILES, write_migrations, write_study
from fairseq_xling.papers.trelm.study import Study, Variation
from fairseq_xling.papers.trelm.teacher import add_translator
from fairseq_xling.workflow.launcher import Launch, launch_of, run_steps
from fairseq_xling.workflow.recipe import ONE_FIGURE, Run
from fairseq_xling.workflow.settled import settle_config
from fairseq_xling.workflow.step import Step


def run_trelm(run: Path, config: TrelmConfig, launch: Launch, chosen: str) -> None:
    """Plan and run a migration to each target in the folder ``run``; or do what ``launch`` says.

    Args:
        chosen: a line about what follows from the text.
    """
    config, settled = settle_config(run, config)
    settled = dataclasses.replace(settled, line="\n".join(filter(None, (chosen, settled.line))))
    shape = read_shape(config)
    inputs = {target: summarize_inputs(config, target, shape) for target in config.targets}
    steps = trelm_steps(run, config, inputs)
    run_steps(run, steps, config.jobs, launch, settled, shown="summary.txt")


def trelm_steps(folder: Path, config: TrelmConfig, inputs: dict[str, InputSummary]) -> list[Step]:
    """All steps of a run, the report last; ``inputs`` by target language."""
    run = Run(folder, config)
    found = _migrations(run, config, inputs, with_baselines)
    steps = list(run.steps.values())
    report = Step(
        "report",
        call=functools.partial(write_migrations, folder, config, found, steps),
        settings={"config": result_settings(config), "kind": "trelm-run"},
        inputs=[path for one in found for path in one.results],
        outputs=[folder / name for name in RUN_FILES],
    )
    return [*steps, report]


def with_baselines(one: Migration) -> None:
    """A migration, with a translator and an autoregressive model if they are asked for."""
    config = one.config
    one.migrate()
    if not (one.translations and config.predicts_translations):
        return
    if config.autoregressive or config.teacher == AUTOREGRESSIVE:
        add_autoregressive(one)
    if config.translator_steps:
        add_translator(one)


def run_study(study: Study, args: argparse.Namespace) -> None:
    """Plan and run the rows of a study; or what ``args`` ask for."""
    run, launch = Path(args.output), launch_of(args)
    config, settled = settle_config(run, read_config(args, study.translates, study.settings))
    rows = study.rows(config, args)
    chosen = choose_rows(rows, args.rows, bool(config.data))
    left_out = [row.code for row in rows if row not in chosen]
    steps = study_steps(study, run, config, rows, chosen, read_shape(config))
    before = f"left out: {', '.join(left_out)}" if left_out else ""
    run_steps(run, steps, config.jobs, launch, settled, before=before)


def study_steps(
    study: Study,
    folder: Path,
    config: TrelmConfig,
    rows: list[Variation],
    chosen: list[Variation],
    shape: EncoderShape,
) -> list[Step]:
    """The steps of the ``chosen`` ones of ``rows``, the table last.

    All rows are planned, so that a step's name does not depend on which of them are run.
    """
    run = Run(folder, config)
    found: dict[str, list[Migration]] = {}
    for row in rows:
        if row.needs_text and config.data:
            continue
        changed = row_config(config, row)
        own = shape if changed.source == config.source else read_shape(changed)
        inputs = {target: summarize_inputs(changed, target, own) for target in changed.targets}
        add = row.add or with_baselines
        found[row.code] = _migrations(run.labelled(row.code), changed, inputs, add)
    migrations = [(row, found[row.code]) for row in chosen]
    results = [path for _, many in migrations for one in many for path in one.results]
    steps = run.needed(results)
    table = Step(
        "table",
        call=functools.partial(write_study, study, folder, config, migrations, steps),
        settings={
            "config": result_settings(config),
            "kind": "trelm-study",
            "rows": [[row.code, row.name, dict(row.changes), row.paper] for row in chosen],
        },
        inputs=results,
        outputs=[folder / name for name in ONE_FIGURE],
    )
    return [*steps, table]


def _migrations(
    run: Run,
    config: TrelmConfig,
    inputs: Mapping[str, InputSummary],
    add: Callable[[Migration], None],
) -> list[Migration]:
    """A migration, or what ``add`` plans instead, for each target and seed, and then its tasks."""
    found = []
    for target, seed in itertools.product(config.targets, config.seed_list):
        one = Migration(run, config, inputs[target], target, seed, Path(config.data))
        if not config.data:
            one.data = one.prepare(f"prepare-{target}")
        add(one)
        found.append(one)
    for one in found:
        one.add_tasks()
    return found


def row_config(config: TrelmConfig, row: Variation) -> TrelmConfig:
    """The settings of one row."""
    changed = dataclasses.replace(config, **row.changes)
    if not changed.predicts_translations:
        changed = dataclasses.replace(changed, translator_steps=0)  # nothing to start it from
    try:
        check_config(changed)
    except UserError as error:
        raise UserError(f"row {row.code}: {error}") from None
    return changed


def choose_rows(rows: Sequence[Variation], asked: str | None, ready_data: bool) -> list[Variation]:
    """The requested rows, or all that the inputs allow."""
    if not asked:
        return [row for row in rows if not (row.needs_text and ready_data)]
    by_code = {row.code: row for row in rows}
    codes = names_in(asked)
    for code in codes:
        if code not in by_code:
            raise UserError(f"`--rows`: {unknown_name('row', code, list(by_code))}")
        if by_code[code].needs_text and ready_data:
            raise UserError(
                f"`--rows` {code} needs its own vocabulary: give `--text` instead of `--data`"
            )
    return [by_code[code] for code in codes]
