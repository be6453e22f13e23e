"""The verb ``trelm run``: from an encoder and plain text to a migrated encoder and a report."""

import argparse
import functools
from pathlib import Path

from fairseq_xling.papers.trelm.book import Book
from fairseq_xling.papers.trelm.check import read_config
from fairseq_xling.papers.trelm.compared import add_compared
from fairseq_xling.papers.trelm.config import TrelmConfig, result_settings
from fairseq_xling.papers.trelm.facts import Facts, read_shape, survey
from fairseq_xling.papers.trelm.run_result import FILES, write_run
from fairseq_xling.papers.trelm.steps import Outcome
from fairseq_xling.papers.trelm.tasks import add_tasks
from fairseq_xling.runs.carry_out import carry_out
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step


def run_trelm(args: argparse.Namespace) -> None:
    """Plan and run everything; or only print the plan, with ``args.dry_run``.

    Raises:
        UserError: for bad settings, missing input, or a step that fails.
    """
    run = Path(args.output)
    config, settled = settle_config(run, read_config(args, translates=True))
    shape = read_shape(config)
    facts = {target: survey(config, target, shape) for target in config.targets}
    steps = trelm_steps(run, config, facts)
    carry_out(run, steps, config.jobs, args, settled, shown="summary.txt")


def trelm_steps(run: Path, config: TrelmConfig, facts: dict[str, Facts]) -> list[Step]:
    """All steps of a run, the report last; ``facts`` by target language."""
    book = Book(run)
    outcomes = add_migrations(book, config, facts)
    steps = list(book.steps.values())
    report = Step(
        "report",
        call=functools.partial(write_run, run, config, outcomes, steps),
        settings={"config": result_settings(config), "kind": "trelm-run"},
        inputs=[path for outcome in outcomes for path in outcome.results],
        outputs=[run / name for name in FILES],
    )
    return [*steps, report]


def add_migrations(book: Book, config: TrelmConfig, facts: dict[str, Facts]) -> list[Outcome]:
    """One migration for each target language and seed."""
    outcomes = [
        add_compared(book, config, facts[target], target, seed)
        for target in config.targets
        for seed in config.seed_list
    ]
    for outcome in outcomes:
        add_tasks(book, config, outcome)
    return outcomes
