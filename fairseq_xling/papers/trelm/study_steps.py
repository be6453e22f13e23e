"""The steps of a study, and its run."""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.errors import UserError
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.check import check_config, read_config
from fairseq_xling.papers.trelm.compared import add_compared
from fairseq_xling.papers.trelm.config import TrelmConfig, result_settings
from fairseq_xling.papers.trelm.facts import read_shape, survey
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.study_result import FILES, write_study
from fairseq_xling.papers.trelm.tasks import add_tasks
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.carry_out import carry_out
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.trelm.study import TrelmStudy, Variation


def run_study(study: "TrelmStudy", args: argparse.Namespace) -> None:
    """Plan and run the rows of a study; or only print the plan, with ``args.dry_run``.

    Raises:
        UserError: for bad settings, missing input, or a step that fails.
    """
    run = Path(args.output)
    config, settled = settle_config(run, read_config(args, study.translates))
    rows = study.rows(config, args)
    chosen = choose_rows(rows, args.rows, bool(config.data))
    left_out = [row.code for row in rows if row not in chosen]
    steps = study_steps(study, run, config, rows, chosen, read_shape(config))
    before = f"left out: {', '.join(left_out)}" if left_out else ""
    carry_out(run, steps, config.jobs, args, settled, before=before)


def study_steps(
    study: "TrelmStudy",
    run: Path,
    config: TrelmConfig,
    rows: list["Variation"],
    chosen: list["Variation"],
    shape: EncoderShape,
) -> list[Step]:
    """The steps of the ``chosen`` ones of ``rows``, the table last.

    All rows are planned, so that a step's name does not depend on which of them are run.
    """
    book = Book(run)
    outcomes: dict[str, list[Outcome]] = {}
    for row in rows:
        if row.needs_text and config.data:
            continue
        changed = row_config(config, row)
        own = shape if changed.source == config.source else read_shape(changed)
        outcomes[row.code] = _plan(book, changed, row, own)
    found = [(row, outcomes[row.code]) for row in chosen]
    results = [path for _, many in found for one in many for path in one.results]
    steps = book.needed(results)
    table = Step(
        "table",
        call=functools.partial(write_study, study, run, config, found, steps),
        settings={
            "config": result_settings(config),
            "kind": "trelm-study",
            "claims": [dataclasses.astuple(one) for one in study.claims(chosen)],
            "rows": [[row.code, row.name, dict(row.changes), row.paper] for row in chosen],
        },
        inputs=results,
        outputs=[run / name for name in FILES],
    )
    return [*steps, table]


def row_config(config: TrelmConfig, row: "Variation") -> TrelmConfig:
    """The settings of one row.

    Raises:
        UserError: if they are incompatible; names the row.
    """
    changed = dataclasses.replace(config, **row.changes)
    if not changed.predicts_translations:
        changed = dataclasses.replace(changed, translator_steps=0)  # nothing to start it from
    try:
        check_config(changed)
    except UserError as error:
        raise UserError(f"row {row.code}: {error}") from None
    return changed


def _plan(book: Book, config: TrelmConfig, row: "Variation", shape: EncoderShape) -> list[Outcome]:
    add = row.add or add_compared
    outcomes = [
        add(book, config, survey(config, target, shape), target, seed, row.code)
        for target in config.targets
        for seed in config.seed_list
    ]
    for outcome in outcomes:
        add_tasks(book, config, outcome)
    return outcomes


def choose_rows(
    rows: Sequence["Variation"], asked: str | None, ready_data: bool
) -> list["Variation"]:
    """The requested rows, or all that the inputs allow.

    Raises:
        UserError: for an unknown row, or one that an existing data folder does not allow.
    """
    if not asked:
        return [row for row in rows if not (row.needs_text and ready_data)]
    by_code = {row.code: row for row in rows}
    chosen = []
    for code in filter(None, (piece.strip() for piece in asked.split(","))):
        if code not in by_code:
            raise UserError(f"`--rows`: {unknown_name('row', code, list(by_code))}")
        if by_code[code].needs_text and ready_data:
            raise UserError(
                f"`--rows` {code} needs its own vocabulary: give `--text` instead of `--data`"
            )
        chosen.append(by_code[code])
    return chosen
