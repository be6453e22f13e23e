"""How much parallel text CLCR needs: the same training on nested subsets of the sentence pairs.

The paper has 250,000 pairs, and reports that more bring nothing (CLCR, Appendix C). Encoders, and
the text to validate and to tune the threshold on, are the same for every size.
"""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.papers.trelm.data import keep_pairs
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.config import PRESETS, check_config, check_sequences
from fairseq_xling.studies.clcr.pairs_config import ClcrPairsConfig
from fairseq_xling.studies.clcr.pairs_result import FILES, write_pairs
from fairseq_xling.studies.clcr.run import Plan
from fairseq_xling.studies.clcr.task_config import check_task, texts_of_all
from fairseq_xling.studies.clcr.task_steps import Part, texts_steps

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


def run_clcr_pairs(args: argparse.Namespace) -> None:
    """See `fairseq_xling.studies.ablations.clcr_pairs`.

    Raises:
        UserError: for bad settings, missing input, or a step that fails.
    """
    config, run = load_config(ClcrPairsConfig, args, PRESETS), Path(args.output)
    folder, pair = check_config(config)
    check_task(config, pair)
    config, settled = settle_config(run, config)
    encoded = texts_of_all(run, config)
    check_sequences(config, folder, pair, encoded)
    steps = texts_steps(run, config)
    parts = []
    for size in config.size_list:
        part = Part(run, f"pairs-{size}", config)
        subset = _subset_step(run, config, pair, size)
        own = dataclasses.replace(config, data=str(*subset.outputs))
        steps.append(subset)
        for seed in config.seed_list:
            plan = Plan(run, own, folder, pair, seed, part.name)
            plan.train()
            plan.modules()
            plan.encode(encoded)
            part.outcomes.append(plan.outcome)
            steps += plan.steps
        steps += part.classify()
        parts.append(part)
    steps.append(_table_step(run, config, pair, parts, list(steps)))
    run_steps(run, steps, config.jobs, args, settled)


def _subset_step(run: Path, config: ClcrPairsConfig, pair: Sequence[str], size: int) -> Step:
    settings = {"pair": list(pair), "count": size, "seed": _SUBSET_SEED, "option": "--sizes"}
    data, output = Path(config.data), run / "data" / f"pairs-{size}"
    return Step(
        f"subset-{size}",
        call=functools.partial(keep_pairs, data, output, **settings),
        settings=settings,
        inputs=[data],
        outputs=[output],
    )


def _table_step(
    run: Path,
    config: ClcrPairsConfig,
    pair: tuple[str, str],
    parts: Sequence[Part],
    steps: Sequence[Step],
) -> Step:
    return Step(
        "table",
        call=functools.partial(write_pairs, run, config, pair, parts, steps),
        settings={"config": dataclasses.asdict(config), "kind": "clcr-pairs"},
        inputs=[path for part in parts for path in part.results],
        outputs=[run / name for name in FILES],
    )
