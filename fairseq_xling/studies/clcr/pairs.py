"""How much parallel text CLCR needs: the same training on nested subsets of the sentence pairs.

The paper has 250,000 pairs, and reports that more bring nothing (CLCR, Appendix C). Encoders, and
the text to validate and to tune the threshold on, are the same for every size.
"""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

from fairseq_xling.runs.carry_out import carry_out
from fairseq_xling.runs.options import load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.clcr.config import PRESETS, check_config, check_sequences
from fairseq_xling.studies.clcr.pairs_config import ClcrPairsConfig, check_task, texts_of
from fairseq_xling.studies.clcr.pairs_result import FILES, SizeOutcome, write_pairs
from fairseq_xling.studies.clcr.run import Plan
from fairseq_xling.studies.trelm.data import keep_pairs

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
    files = config.labelled
    encoded = [text for file in files for text in texts_of(run, file)]
    check_sequences(config, folder, pair, encoded)
    steps = [_texts_step(run, config, number) for number in range(len(files))]
    outcomes = []
    for size in config.size_list:
        part = f"pairs-{size}"
        subset = _subset_step(run, config, pair, size)
        own = dataclasses.replace(config, data=str(*subset.outputs))
        plans = [Plan(run, own, folder, pair, seed, part) for seed in config.seed_list]
        steps.append(subset)
        for plan in plans:
            plan.train()
            plan.modules()
            plan.encode(encoded)
            steps += plan.steps
        classified = run / part / "classified" if files else None
        outcomes.append(SizeOutcome(size, [plan.outcome for plan in plans], classified))
        if classified:
            steps.append(_classify_step(run, config, part, outcomes[-1]))
    steps.append(_table_step(run, config, pair, outcomes, list(steps)))
    carry_out(run, steps, config.jobs, args, settled)


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


def _texts_step(run: Path, config: ClcrPairsConfig, number: int) -> Step:
    file = config.labelled[number]
    outputs = [Path(text.file) for text in texts_of(run, file)]
    command = [
        *("fairseq-xling", "clcr", "texts", str(file.path)),
        *_reading(config),
        *("--output", str(outputs[0].with_suffix(""))),
    ]
    name = f"texts-{file.name}"
    return Step(name, commands=[command], inputs=[file.path], outputs=outputs)


def _reading(config: ClcrPairsConfig) -> list[str]:
    """How labelled files are read."""
    given = {"--format": config.format, "--columns": config.columns}
    return [word for option, value in given.items() if value for word in (option, value)]


def _classify_step(run: Path, config: ClcrPairsConfig, part: str, outcome: SizeOutcome) -> Step:
    places = run / part / "sequences" / "{seed}"
    command = [
        *("fairseq-xling", "clcr", "classify", "--train", config.train, "--valid", config.valid),
        *(word for test in config.test for word in ("--test", test)),
        *(
            word
            for row in config.row_list
            for word in ("--vectors", f"{row}={places / row}/{{name}}.{{side}}.{{lang}}")
        ),
        *_reading(config),
        *("--seeds", config.seeds, "--device", config.device),
        *("--output", str(outcome.classified), *config.words("classify_args")),
    ]
    inputs = [file.path for file in config.labelled]
    inputs += [folder for one in outcome.outcomes for folder in one.sequences]
    return Step(
        f"{part}-classify",
        commands=[command],
        inputs=inputs,
        outputs=[outcome.classified],
        resumable=True,
    )


def _table_step(
    run: Path,
    config: ClcrPairsConfig,
    pair: tuple[str, str],
    outcomes: Sequence[SizeOutcome],
    steps: Sequence[Step],
) -> Step:
    inputs = [log for size in outcomes for one in size.outcomes for log in one.logs.values()]
    inputs += [one.labels for size in outcomes for one in size.outcomes if one.labels]
    inputs += [size.classified for size in outcomes if size.classified]
    return Step(
        "table",
        call=functools.partial(write_pairs, run, config, pair, outcomes, steps),
        settings={"config": dataclasses.asdict(config), "kind": "clcr-pairs"},
        inputs=inputs,
        outputs=[run / name for name in FILES],
    )
