"""Fine-tune encoders on one language and test them on others: one table.

  fairseq-xling eval transfer --encoder checkpoint_best.pt --data data-bin --head ner \\
      --train en=train.conll --valid en=dev.conll --test de=test.conll --output runs/ner
  fairseq-xling eval transfer --config ner.yaml --output runs/ner --dry-run

Every encoder is trained with every setting of the grid (--lrs, --head-lrs, --batch-sizes) and seed;
the settings that are best on the source language's dev file are tested. Writes the table, a report,
all scores and all predictions, in the format of the test files. Several test sets (--test de=FILE
--test test1.de=FILE) each have a row of their own. If interrupted, the same command resumes.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.files import read_json
from fairseq_xling.data.meta import split_order
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, made
from fairseq_xling.reports.rows import Row, distinct, figures, select

if TYPE_CHECKING:
    from fairseq_xling.papers.transfer.config import TransferConfig
    from fairseq_xling.papers.transfer.plan import TrainSet
    from fairseq_xling.papers.transfer.steps import TestedModel
    from fairseq_xling.workflow.step import Step

GROUP = "Transfer"
FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
ENCODERS = "Emerging Cross-lingual Structure (Conneau et al., 2020), 3.2"
ONE_LANGUAGE = "TreLM (Li et al., 2021), A.6"
MATRIX = "Pires et al. (2019), Tables 1 and 2"
MEAN, GAP = "mean of targets", "gap"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.transfer.config import TransferConfig
    from fairseq_xling.workflow.launcher import add_run_arguments
    from fairseq_xling.workflow.options import add_options

    add_run_arguments(parser)
    add_options(parser, TransferConfig)


def run(args: argparse.Namespace) -> None:
    check_installed("`fairseq-xling eval transfer`", *OF_PAGES)
    from fairseq_xling.papers.transfer.plan import zero_shot

    run_study(args, zero_shot, "Zero-shot transfer")


def run_study(
    args: argparse.Namespace, sets: Callable[[TransferConfig], list[TrainSet]], title: str
) -> None:
    """Plan and run everything; or only print the plan, with ``args.dry_run``."""
    from fairseq_xling.papers.transfer.config import PRESETS, TransferConfig, check_config
    from fairseq_xling.papers.transfer.plan import check_languages, check_layers, encoders
    from fairseq_xling.papers.transfer.steps import study_steps
    from fairseq_xling.workflow.launcher import run_steps
    from fairseq_xling.workflow.options import load_config
    from fairseq_xling.workflow.settled import settle_config
    from fairseq_xling.workflow.step import Step

    config, run = load_config(TransferConfig, args, PRESETS), Path(args.output)
    check_config(config)
    config, settled = settle_config(run, config)
    chosen, trained = encoders(config), sets(config)
    check_languages(chosen, trained)
    check_layers(config, chosen)
    steps, rows = study_steps(run, config, chosen, trained)
    table = Step(
        "table",
        call=functools.partial(write_transfer, run, config, title, rows, steps),
        settings={"config": repr(config), "title": title},
        inputs=[row.result for row in rows],
        outputs=[run / name for name in FILES],
    )
    run_steps(run, [*steps, table], config.jobs, args, settled)


def write_transfer(
    run: Path,
    config: TransferConfig,
    title: str,
    models: Sequence[TestedModel],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    from fairseq_xling.reports.page import write_run
    from fairseq_xling.workflow.recipe import with_steps

    results = []
    for model in models:
        name = ", ".join(filter(None, (model.encoder.name, model.trained.row)))
        results.append({**read_json(model.result), "name": name})
    # The order is that of the command; the results' files sort their keys.
    languages = list(dict.fromkeys(test.lang for model in models for test in model.trained.tests))
    record = transfer_record(title, measurements(results, languages), config, languages)
    write_run(run, with_steps(made(record, {}), run, steps))


def measurements(
    results: Sequence[Mapping[str, Any]], languages: Sequence[str]
) -> list[dict[str, Any]]:
    """A row for each figure of each test, in percent, line by line of the table, and for each
    figure on dev files, those of the chosen settings first.

    ``row`` is the name of a result, ``line`` that with what else tells its lines apart: shifted
    states, and the set that was tested on. ``task`` is the label of a test, ``set`` and ``target``
    are its test set and language; ``part`` is ``test`` or ``dev``. Where states were ``shifted``,
    ``alpha`` says by how much. `MEAN` is the mean over the languages that were not trained on,
    `GAP` how much better those are that were.

    Args:
        results: what `test_models` writes, each with its ``name``.
        languages: that were tested, in their order.
    """
    common, place = {"paper": "transfer", "study": "zero-shot", "unit": "%"}, languages.index
    rows = []
    for one in results:
        about = {"row": one["name"], "source": "+".join(one["sources"])}
        about |= {name: one[name] for name in ("encoder", "trained", "how") if one[name]}
        chosen = one.get("chosen", {})
        dev = [{"chosen": model["setting"] in chosen, **model} for model in one["dev"]]
        dev.sort(key=lambda model: -chosen.get(model["setting"], 0))
        found = [{"part": "dev", "measure": one["metric"], "shifted": False, **m} for m in dev]
        tests = sorted(
            _scored(one), key=lambda r: (r["shifted"], split_order(r["set"]), place(r["target"]))
        )
        found += [*tests, *_means(one, tests)]
        rows += [{**common, **about, **row} for row in found]
    return rows


def _scored(one: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The figures of the tests of a result, and those that a shift was chosen by."""
    for test in one["tests"]:
        found = [(label, {"scores": own}, False) for label, own in test["scores"].items()]
        found += [(label, own, True) for label, own in test.get("shifted", {}).items()]
        for label, own, shifted in found:
            test_set, _, lang = label.rpartition(".")
            line = ", ".join(filter(None, (one["name"], "shifted" * shifted, test_set)))
            about = {"setting": test["setting"], "seed": test["seed"], "shifted": shifted}
            about |= {"line": line, "task": label, "set": test_set or "test", "target": lang}
            for alpha, value in own.get("dev", {}).items():
                of = {"part": "dev", "measure": one["metric"], "alpha": float(alpha)}
                yield {**about, **of, "value": value}
            of = {"part": "test"} | ({"alpha": own["alpha"]} if shifted else {})
            for name, value in own["scores"].items():
                yield {**about, **of, "measure": name, "value": value}


def _means(one: Mapping[str, Any], tests: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """`MEAN` and `GAP` of each line, if there are such languages."""
    own = select(tests, {"part": "test", "measure": one["metric"]})
    for line in distinct(own, "line"):
        lines = select(own, {"line": line})
        sides: tuple[list[float], list[float]] = [], []
        for (lang,), values in figures(lines, "target").items():
            sides[lang in one["sources"]].append(statistics.fmean(values))
        mean, trained = (statistics.fmean(side) if side else None for side in sides)
        about = {"part": "test", "line": line, "shifted": lines[0]["shifted"]}
        if mean is not None:
            yield {**about, "measure": MEAN, "value": mean}
            if trained is not None:
                yield {**about, "measure": GAP, "value": trained - mean}


def transfer_record(
    title: str, rows: Sequence[Row], config: TransferConfig, languages: Sequence[str]
) -> Record:
    """The record of `measurements`."""
    tests = {"part": "test", "measure": config.figure}
    matrix = len(distinct(select(rows, {**tests, "how": None}), "source")) > 1
    if not select(rows, {"measure": MEAN}):
        title = f"Head {config.head}, trained and tested on one language"
        source = ONE_LANGUAGE
    else:
        source = MATRIX if matrix else ENCODERS
    return Record(
        title,
        rows,
        tuple(_sections(rows, config, languages, matrix)),
        source=source,
        lead=[
            "Epochs and settings were selected on the source language's dev file alone; the test "
            "files were read only afterwards, for the test."
        ],
        facts={"head": config.head, "metric": config.figure},
        config=dataclasses.asdict(config),
    )


def transfer_table(rows: Sequence[Row], metric: str, languages: Sequence[str]) -> Table:
    """Encoders down and languages across, then `MEAN` and `GAP` where there are target languages;
    models of one name differ by what they were trained on."""
    further = [MEAN, GAP] if select(rows, {"measure": MEAN}) else []
    return Table(
        {"encoder": "line", **_sources(rows)},
        "{target|measure}",
        {"part": "test", "measure": [metric, *further]},
        order=[*languages, *further],
        digits=1,
    )


def _sources(rows: Sequence[Row]) -> dict[str, str]:
    several = len(distinct(rows, "{row} {source}")) > len(distinct(rows, "row"))
    return {"trained on": "source"} if several else {}


def _sections(
    rows: Sequence[Row], config: TransferConfig, languages: Sequence[str], matrix: bool
) -> Iterator[Section]:
    """The table, a heat map of a matrix, every seed, and what was chosen on dev files."""
    metric = config.figure
    tests = {"part": "test", "measure": metric}
    table = transfer_table(rows, metric, languages)
    notes = _notes(rows, config)
    yield Section(f"{metric} by language", table, notes=notes, name="table")
    if matrix:
        heat = Chart(
            "heat",
            {**tests, "how": None},
            row="line",
            x="target",
            columns=languages,
            xlabel="tested on",
            ylabel="trained on",
            unit=f"{metric} (%)",
            scale=(0.0, 100.0),
        )
        yield Section("Every language with every language", chart=heat)
    dots = Chart("dots", tests, "line", panel="target", xlabel=f"{metric} (%)")
    yield Section("Every seed", chart=dots, name="plot")
    if select(rows, shifted := {**tests, "shifted": True}):
        lines = {"encoder": "encoder", "seed": "seed", "language": "task", "alpha": "alpha"}
        yield Section("Chosen shifts", Table(lines, "", shifted))
    if select(rows, dev := {"part": "dev", "chosen": True}):
        lines = {"row": "row", **_sources(rows), "setting": "setting"}
        yield Section("Chosen settings", Table(lines, "{measure} on dev", dev, digits=2))


def _notes(rows: Sequence[Row], config: TransferConfig) -> list[str]:
    seeds = f"seed {config.seeds}"
    if len(config.seed_list) > 1:
        seeds = f"mean ± standard deviation over seeds {config.seeds}"
    tried = len(distinct(select(rows, {"row": rows[0]["row"], "part": "dev"}), "setting"))
    chosen = f"the mean of the best {config.best} of {tried} settings by dev"
    if tried < 2:
        chosen = "the only setting"
    epochs = f"{config.epochs} epoch{'s' * (config.epochs > 1)}"
    notes = [f"{config.figure} in percent; {seeds}; {chosen}; {epochs}, the best one by dev."]
    if select(rows, {"measure": GAP}):
        notes.append("gap: the figure of the language trained on minus the mean of the targets'.")
    if config.shift_layer:
        notes.append(
            f"shifted: states of layer {config.shift_layer} shifted by the languages' mean "
            "difference at test time, alpha "
            + (
                f"the best of {config.shift_alphas} on each target's dev file."
                if config.shift_alpha == "auto"
                else "given."
            )
        )
    return notes
