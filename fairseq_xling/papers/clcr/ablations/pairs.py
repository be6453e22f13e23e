"""How much parallel text CLCR needs: the same training on nested subsets of the sentence pairs.

The paper has 250,000 pairs, and reports that more bring nothing (CLCR, Appendix C). Encoders, and
the text to validate and to tune the threshold on, are the same for every size.
"""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.options import option
from fairseq_xling.papers.clcr.ablations import (
    ClcrTaskConfig,
    Part,
    check_task,
    table_step,
    texts_of_all,
    texts_steps,
)
from fairseq_xling.papers.clcr.config import PRESETS, check_config, check_sequences
from fairseq_xling.runs.options import add_options, load_config, parse_numbers
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.ablations import STUDIES

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


@dataclasses.dataclass(frozen=True)
class ClcrPairsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    sizes: str = option("", "numbers of sentence pairs to train on, e.g. 1000,4000,16000")

    @property
    def size_list(self) -> list[int]:
        """Ascending."""
        return sorted(parse_numbers("--sizes", self.sizes, int))


@STUDIES.register("clcr-pairs")
class ClcrPairs:
    """The same training on nested subsets of the sentence pairs."""

    help = "distance, pivots, accuracy and time of CLCR by the number of sentence pairs"
    spec_rows = ("C17",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments

        add_run_arguments(parser)
        add_options(parser, ClcrPairsConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.papers.clcr.ablations_result import write_pairs
        from fairseq_xling.papers.clcr.plan import Plan
        from fairseq_xling.runs.launcher import run_steps
        from fairseq_xling.runs.settled import settle_config

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
                part.artifacts.append(plan.artifacts)
                steps += plan.steps
            steps += part.classify()
            parts.append(part)
        write = functools.partial(write_pairs, run, config, pair, parts, list(steps))
        steps.append(table_step(run, config, "clcr-pairs", parts, write))
        run_steps(run, steps, config.jobs, args, settled)


def _subset_step(run: Path, config: ClcrPairsConfig, pair: Sequence[str], size: int) -> Step:
    from fairseq_xling.papers.trelm.data import keep_pairs

    settings = {"pair": list(pair), "count": size, "seed": _SUBSET_SEED, "option": "--sizes"}
    data, output = Path(config.data), run / "data" / f"pairs-{size}"
    return Step(
        f"subset-{size}",
        call=functools.partial(keep_pairs, data, output, **settings),
        settings=settings,
        inputs=[data],
        outputs=[output],
    )
