"""The steps of a study: a training for each encoder, training set, setting and seed, then tests."""

import functools
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling import USER_DIR
from fairseq_xling.precision import device_options
from fairseq_xling.runs.step import Step
from fairseq_xling.runs.training_command import resumable_training
from fairseq_xling.studies.transfer.config import Setting, TransferConfig, grid
from fairseq_xling.studies.transfer.plan import Encoder, Files, TrainSet, shift_dev
from fairseq_xling.studies.transfer.test import Trained, test_models
from fairseq_xling.tasks.formats import Format, find_format, read_items
from fairseq_xling.tasks.heads import count_items, heads
from fairseq_xling.tasks.items import parse_columns


@dataclass(frozen=True)
class TestedModel:
    """A row of the table: its model, and the file with its results."""

    encoder: Encoder
    trained: TrainSet
    result: Path


def study_steps(
    run: Path, config: TransferConfig, chosen: Sequence[Encoder], sets: Sequence[TrainSet]
) -> tuple[list[Step], list[TestedModel]]:
    """All steps except the table, and the resulting rows."""
    steps: dict[str, Step] = {}
    rows = []
    # Damaged or unannotated files are reported before anything runs.
    items = {one.train: count_files(config, "--train", one.train) for one in sets}
    for valid in dict.fromkeys(one.valid for one in sets):
        count_files(config, "--valid", valid)
    dev = shift_dev(config, sets)
    for encoder in chosen:
        for one in sets:
            models = []
            for setting in grid(config):
                for seed in config.seed_list:
                    name = f"{encoder.name}-{one.name}-{setting.code}-{seed}"
                    step = _training(
                        run, config, encoder, one, items[one.train], setting, seed, name
                    )
                    steps[step.name] = step
                    models.append(Trained(setting.code, seed, *step.outputs))
            name = "-".join(filter(None, ("test", encoder.name, one.name, one.how)))
            result = run / "results" / f"{name}.json"
            steps[name] = _test(run, config, encoder, one, models, dev, name, result)
            rows.append(TestedModel(encoder, one, result))
    return list(steps.values()), rows


def _training(
    run: Path,
    config: TransferConfig,
    encoder: Encoder,
    data: TrainSet,
    items: Sequence[int],
    setting: Setting,
    seed: int,
    name: str,
) -> Step:
    updates = config.epochs * sum(-(-n // setting.batch_size) for n in items)
    command = [
        *("fairseq-train", str(encoder.data), "--user-dir", str(USER_DIR)),
        *("--task", "cross_lingual_transfer", "--arch", "cross_lingual_transfer"),
        *("--criterion", "cross_lingual_transfer", "--encoder", str(encoder.checkpoint)),
        *(("--reset-encoder",) if encoder.scratch else ()),
        *("--head", config.head, "--train-file", _joined(data.train)),
        *("--valid-file", _joined(data.valid)),
        *(("--head-options", config.head_options) if config.head_options else ()),
        *(("--format", config.format) if config.format else ()),
        *(("--columns", config.columns) if config.columns else ()),
        *(("--skip-bad", str(config.skip_bad)) if config.skip_bad else ()),
        *("--unknown-labels", config.unknown_labels, "--too-long", config.too_long),
        *(("--freeze-layers", str(config.freeze_layers)) if config.freeze_layers else ()),
        *(("--freeze-encoder",) if config.freeze_encoder else ()),
        *("--optimizer", "adam", "--weight-decay", str(config.weight_decay)),
        *("--clip-norm", str(config.clip), "--lr", str(setting.lr)),
        *(("--head-lr", str(setting.head_lr)) if setting.head_lr else ()),
        *_schedule(config, updates),
        *("--batch-size", str(setting.batch_size), "--max-epoch", str(config.epochs)),
        *("--save-dir", str(run / "models" / name), "--no-epoch-checkpoints"),
        *("--best-checkpoint-metric", config.figure, "--maximize-best-checkpoint-metric"),
        *("--seed", str(seed), "--num-workers", "0", "--log-format", "json"),
        *("--log-interval", str(max(1, updates // 20)), "--no-progress-bar"),
        *device_options(config.precision, config.device),
        *shlex.split(config.train_args),
    ]
    read = _with_annotation(config, (*data.train, *data.valid))
    inputs = [encoder.data, encoder.checkpoint, *read]
    log = run / "logs" / f"train-{name}.log"
    return resumable_training(f"train-{name}", command, inputs, run / "models" / name, log, updates)


def _schedule(config: TransferConfig, updates: int) -> list[str]:
    warm = ["--warmup-updates", str(int(config.warmup * updates))]
    if config.schedule == "constant":
        return ["--lr-scheduler", "fixed", *warm]
    return ["--lr-scheduler", "polynomial_decay", *warm, "--total-num-update", str(updates)]


def count_files(config: TransferConfig, option: str, files: Files) -> list[int]:
    """The number of items in each file.

    Raises:
        UserError: for a damaged row, or a file without annotation.
    """
    head, reader, columns = heads[config.head], _format(config), parse_columns(config.columns)
    return [
        count_items(
            head, option, path, read_items(reader, path, columns, lang, head.check, config.skip_bad)
        )
        for lang, path in files
    ]


def _format(config: TransferConfig) -> type[Format]:
    return find_format(heads[config.head].format, config.format)


def _with_annotation(config: TransferConfig, files: Files) -> list[Path]:
    """The files, each followed by those that are read with it."""
    beside = _format(config).beside
    return [one for _, path in files for one in (path, *beside(path))]


def _joined(files: Files) -> str:
    return ",".join(f"{lang}={path}" for lang, path in files)


def _test(
    run: Path,
    config: TransferConfig,
    encoder: Encoder,
    data: TrainSet,
    models: Sequence[Trained],
    dev: Files,
    name: str,
    result: Path,
) -> Step:
    predictions = run / "predictions" / name.removeprefix("test-")
    shift = {
        "layer": config.shift_layer if not data.how else 0,
        "alpha": config.shift_alpha,
        "dev": [f"{lang}={path}" for lang, path in dev],
        "sentences": config.shift_sentences,
        **({"alphas": config.shift_alphas} if config.shift_layer else {}),
    }
    call = functools.partial(test_models, models, encoder, data, config, predictions, result, shift)
    # Zero-shot: test files must not be read before the test, so not when a run is planned.
    unread = [*((one.lang, one.path) for one in data.tests), *(dev if shift["layer"] else ())]
    return Step(
        name,
        call=call,
        device=config.device,
        settings={
            "tests": [[one.label, one.reads] for one in data.tests],
            "best": config.best,
            "shift": shift,
        },
        inputs=[encoder.data, *(path for one in models for path in (one.folder, one.log))],
        unread=_with_annotation(config, unread),
        outputs=[result, predictions],
    )
