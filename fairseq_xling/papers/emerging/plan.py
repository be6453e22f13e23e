"""Conneau et al. 2020, Table 1, as steps: text, data folders, trainings, evaluations, the table."""

import argparse
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.dictionary import dictionary_path
from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.papers.emerging.config import SETTINGS, AblationConfig, Setting, load_config
from fairseq_xling.papers.emerging.result import SharingModel, write_ablation
from fairseq_xling.runs.corpus_steps import (
    eval_command,
    prepare_step,
    segment_options,
    text_files,
)
from fairseq_xling.runs.launcher import run_steps
from fairseq_xling.runs.options import split_words
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import training_step
from fairseq_xling.studies.gold_tasks import transfer_step
from fairseq_xling.text.vocabularies import modes

_SUBSET_SEED = 1


def run_ablation(args: argparse.Namespace) -> None:
    """The verb ``ablate emerging-structure``."""
    run = Path(args.output)
    config, settled = settle_config(run, load_config(args))
    settings = choose_settings(config)
    left_out = [s.code for s in SETTINGS if s.code not in {t.code for t in settings}]
    before = ""
    if left_out and not config.settings:
        before = f"left out, for want of a second text or a dictionary: {', '.join(left_out)}"
    steps = ablation_steps(run, config, settings)
    run_steps(run, steps, config.jobs, args, settled, before=before)


def choose_settings(config: AblationConfig) -> list[Setting]:
    """The requested settings, or all that the inputs allow, at the model's depth.

    Raises:
        UserError: if the input of a requested setting is missing.
    """
    asked = [code.strip() for code in config.settings.split(",") if code.strip()]
    chosen = []
    for setting in SETTINGS:
        missing = None
        if setting.other_text and not config.other_text:
            missing = "`--other-text`"
        elif setting.needs_dictionary and config.dictionary_path is None:
            missing = "`--dictionary`"
        if setting.code in asked and missing:
            raise UserError(f"setting {setting.code} needs {missing}")
        if setting.code in asked or (not asked and not missing):
            if config.separate_start and setting.separate:
                start = ("--separate-start", config.separate_start)
                setting = dataclasses.replace(setting, options=(*setting.options, *start))
            chosen.append(setting.at_depth(config.layers))
    return chosen


def ablation_steps(run: Path, config: AblationConfig, settings: Sequence[Setting]) -> list[Step]:
    """All steps of the study; all files are in ``run``."""
    source, *targets = config.language_list
    steps: dict[str, Step] = {}
    cells = []
    for target in targets:
        for setting in settings:
            data = _data_steps(steps, run, config, setting, source, target)
            for seed in config.seed_list:
                name = f"{setting.code}-{source}-{target}-{seed}"
                folder, log = run / "models" / name, run / "logs" / f"train-{name}.log"
                result = run / "results" / f"{name}.json"
                steps[f"train-{name}"] = training_step(
                    f"train-{name}",
                    config.training,
                    data,
                    folder,
                    log,
                    seed,
                    source,
                    setting.train_options,
                    config.device,
                    config.precision,
                )
                steps[f"eval-{name}"] = _eval_step(name, config, data, folder, result, target)
                more = {}
                for test in config.test_list[1:]:
                    more[test] = run / "results" / f"{name}.{test}.json"
                    again = _further_step(
                        f"{name}-{test}", config, data, folder, more[test], target, test
                    )
                    steps[again.name] = again
                tasks = _task_steps(steps, run, config, name, data, folder, target)
                cells.append(SharingModel(setting, target, seed, result, log, tasks, more))
    write = functools.partial(write_ablation, run, config, cells)
    steps["table"] = Step(
        "table",
        call=lambda: write(list(steps.values())),
        settings={
            "config": dataclasses.asdict(config),
            "settings": [repr(s) for s in settings],
            "kind": "ablation",
        },
        inputs=[path for cell in cells for path in cell.files],
        outputs=[run / name for name in ("table.md", "table.csv", "results.json", "plot.svg")]
        + [run / "report.html"],
    )
    return list(steps.values())


def _data_steps(
    steps: dict[str, Step],
    run: Path,
    config: AblationConfig,
    setting: Setting,
    source: str,
    target: str,
) -> Path:
    """Add the step that makes the setting's data folder, unless it exists; returns its path."""
    text = Path(config.data_text)
    origin, inputs = ["--from", str(text)], text_files(text, [source, target])
    kind = setting.vocab
    if setting.other_text:
        kind = f"{kind}-other"
        subset = run / "text" / f"other.train.{target}.txt"
        steps.setdefault(f"subset-{target}", _subset_step(config, target, subset))
        origin += ["--mono", f"train.{target}={subset}"]
        inputs.append(subset)
    if setting.needs_dictionary and config.dictionary:
        kind = f"{kind}-anchors"
        file = dictionary_path(config.dictionary, source, target)
        origin += ["--dictionary", f"{source}-{target}={file}"]
        inputs.append(file)
    data = run / "data" / f"{kind}.{source}-{target}"
    share = len(modes[setting.vocab]().groups([source, target]))
    name = f"prepare-{data.name}"
    steps.setdefault(
        name,
        prepare_step(
            name,
            data,
            [source, target],
            source=origin,
            inputs=inputs,
            mode=setting.vocab,
            vocab_type=config.vocab_type,
            vocab_size=config.vocab_size // share,
            options=[
                *segment_options(config.segment, [source, target]),
                *split_words("--prepare-args", config.prepare_args),
            ],
        ),
    )
    return data


def _task_steps(
    steps: dict[str, Step],
    run: Path,
    config: AblationConfig,
    name: str,
    data: Path,
    folder: Path,
    target: str,
) -> dict[str, Path]:
    """Add the model's zero-shot tasks; their folders by name."""
    outputs = {}
    for task, gold in config.task_table.items():
        outputs[task] = run / "tasks" / f"{task}-{name}"
        encoders = {"model": (folder / "checkpoint_best.pt", data)}
        languages = [config.language_list[0], target]
        options = ["--device", config.device, "--precision", config.precision]
        options += split_words("--task-args", config.task_args)
        text = Path(config.data_text)
        steps[f"{task}-{name}"] = transfer_step(
            f"{task}-{name}",
            gold,
            outputs[task],
            text,
            languages,
            encoders,
            "1",
            options,
            config.task_settings,
            config.test_list,
        )
    return outputs


def _subset_step(config: AblationConfig, target: str, output: Path) -> Step:
    given, like = (find_text(folder, target) for folder in (config.other_text, config.data_text))
    return Step(
        f"subset-{target}",
        call=lambda: write_subset(given, like, output, _SUBSET_SEED),
        settings={"seed": _SUBSET_SEED},
        inputs=[given, like],
        outputs=[output],
    )


def find_text(folder: str, lang: str) -> Path:
    """The training text of ``lang`` in a folder, plain or gzipped.

    Raises:
        UserError: if there is none.
    """
    plain = Path(folder) / "mono" / f"train.{lang}.txt"
    for path in (plain, plain.with_name(plain.name + ".gz")):
        if path.is_file():
            return path
    raise UserError(f"{plain}: no such file")


def _eval_step(
    name: str, config: AblationConfig, data: Path, folder: Path, result: Path, target: str
) -> Step:
    source = config.language_list[0]
    measures, options = ["retrieval"], []
    if config.dictionary_path is not None:
        file = dictionary_path(config.dictionary_path, source, target)
        measures.append("words")
        options = ["--dictionary", file, "--words-limit", str(config.words_limit)]
    if config.test_list[0] != "test":
        options += ["--retrieval-split", config.test_list[0]]
    command = eval_command(
        [folder / "checkpoint_best.pt"],
        data,
        source,
        [target],
        *("--measure", ",".join([*measures, "bpw"]), *options),
        *("--device", config.device, "--output", result),
    )
    return Step(f"eval-{name}", commands=[command], inputs=[data, folder], outputs=[result])


def _further_step(
    name: str,
    config: AblationConfig,
    data: Path,
    folder: Path,
    result: Path,
    target: str,
    test: str,
) -> Step:
    """Retrieval in a further test set."""
    command = eval_command(
        [folder / "checkpoint_best.pt"],
        data,
        config.language_list[0],
        [target],
        *("--measure", "retrieval", "--retrieval-split", test),
        *("--device", config.device, "--output", result),
    )
    return Step(f"eval-{name}", commands=[command], inputs=[data, folder], outputs=[result])


def write_subset(source: Path, like: Path, output: Path, seed: int) -> None:
    """Random lines of ``source``, in their order, with as many characters as ``like`` has
    (setting A2: domain, not size, differs).

    The last line drawn is kept if that brings the size closer. Characters are counted because
    words are not marked in every language.

    Raises:
        UserError: if ``source`` is smaller than ``like``.
    """
    wanted = sum(len(line) for line in read_lines(like))
    lengths = np.array([len(line) for line in read_lines(source)], dtype=np.int64)
    if lengths.sum() < wanted:
        raise UserError(
            f"{source}: must be at least as large as {like}, "
            f"got {lengths.sum():,} and {wanted:,} characters"
        )
    order = np.random.default_rng(seed).permutation(len(lengths))
    totals = np.cumsum(lengths[order])
    count = int(np.searchsorted(totals, wanted))
    before = totals[count - 1] if count else 0
    count += bool(totals[count] - wanted <= wanted - before) if count < len(totals) else 0
    chosen = np.zeros(len(lengths), dtype=bool)
    chosen[order[:count]] = True
    with atomic_write(output, "w") as file:
        for keep, line in zip(chosen, read_lines(source), strict=True):
            if keep:
                file.write(line + "\n")
