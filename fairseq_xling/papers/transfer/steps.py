"""The steps of a study: a training for each encoder, training set, setting and seed, then tests.

Settings are selected on dev, and the resulting models tested, if asked also with the states of a
layer shifted towards the source language's. Liu et al. (2020), "A Study of Cross-Lingual Ability
and Language-specific Information in Multilingual BERT", Section 4.3: XNLI, fine-tuned on English
with the lower six layers frozen, is tested with ``h' = h + alpha D`` instead of the states h of
layer 6, where the mean difference shift ``D`` (Section 4.1) points from the tested language to
English. The paper does not state the direction; here ``D = mean(source) - mean(target)``. It
selects alpha for each language on its dev set, as is done here unless alpha is given; the alphas to
try are those of `parse_alphas`. Means are over the tokens of unannotated text. Freezing is
`--freeze-layers`.
"""

import functools
import shlex
import statistics
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling import USER_DIR
from fairseq_xling.analysis.language_mean import LanguageMean
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.engine.precision import device_options
from fairseq_xling.engine.training_log import read_curves
from fairseq_xling.interop.encoder import Encoder as LoadedEncoder
from fairseq_xling.interop.token_translation import shifting
from fairseq_xling.papers.transfer.config import Setting, TransferConfig, grid, parse_alphas
from fairseq_xling.papers.transfer.plan import Encoder, Files, Test, TrainSet, shift_dev
from fairseq_xling.studies.training_command import resumable_training
from fairseq_xling.tasks.formats import Format, find_format, read_items
from fairseq_xling.tasks.heads import count_items, heads
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.tasks.predict import Predictor
from fairseq_xling.workflow.step import Step


@torch.no_grad()
def language_mean(predictor: Predictor, lang: str, layer: int, sentences: int) -> Tensor:
    """The mean (D,) of a layer's states over the tokens of the folder's validation text.

    Special symbols are excluded. Layers are those of `Encoder.states`: a TRILayer is one of them.
    """
    task, last = predictor.task, predictor.model.encoder.depth
    if not 1 <= layer <= last:
        raise UserError(f"`--shift-layer` must lie in [1, {last}], got {layer}")
    file = task.folder.mono("valid", lang)
    number = min(sentences, len(file))
    chosen = np.linspace(0, len(file) - 1, number).round().astype(int)
    reader = LoadedEncoder(predictor.model, task, predictor.device)
    mean = LanguageMean()
    for _, batch in reader.batches([file[i] for i in chosen], lang):
        src = batch["net_input"]["src"]
        states = predictor.model.encoder.states(src, (lang, lang))[layer]
        mean.add(states[None], src["tokens"] >= SPECIALS)
    if not mean.count:
        raise UserError(f"{task.folder.path}: has no validation text of {lang!r} for its mean")
    return mean.value()[0].float()


def test_shifted(
    predictor: Predictor,
    tests: Sequence[Test],
    source: str,
    dev: Mapping[str, Path],
    shift: Mapping[str, Any],
    metric: str,
) -> dict[str, Any]:
    """Scores of every target with its states shifted, by `Test.label`, each with its alpha."""
    layer, sentences = shift["layer"], shift["sentences"]
    centre, found = language_mean(predictor, source, layer, sentences), {}
    for test in tests:
        if test.reads == source:
            continue
        vector = centre - language_mean(predictor, test.reads, layer, sentences)
        alpha, curve = _alpha(predictor, test, vector, dev, shift, metric)
        with _shifted(predictor, layer, alpha * vector):
            one = predictor.predict(test.reads, test.path)
        found[test.label] = {"alpha": alpha, "dev": curve, "scores": one.scores}
    return found


def _alpha(
    predictor: Predictor,
    test: Test,
    vector: Tensor,
    dev: Mapping[str, Path],
    shift: Mapping[str, Any],
    metric: str,
) -> tuple[float, dict[str, float]]:
    if shift["alpha"] != "auto":
        return float(shift["alpha"]), {}
    curve = {}
    for alpha in parse_alphas(shift["alphas"]):
        with _shifted(predictor, shift["layer"], alpha * vector):
            scores = predictor.predict(test.reads, dev[test.lang]).scores
        if metric not in scores:
            raise UserError(f"`--shift-dev` {dev[test.lang]}: nothing in it is annotated")
        curve[alpha] = scores[metric]
    best = max(curve, key=lambda alpha: curve[alpha])
    return best, {f"{alpha:g}": value for alpha, value in curve.items()}


def _shifted(predictor: Predictor, layer: int, vector: Tensor) -> AbstractContextManager[None]:
    return shifting(predictor.model.encoder, layer, vector, "--shift-layer")


@dataclass(frozen=True)
class Trained:
    """A model of the grid: its setting, seed, folder of checkpoints, and log."""

    setting: str
    seed: int
    folder: Path
    log: Path


def best_on_dev(model: Trained, metric: str) -> float:
    """The highest figure on dev of any epoch, which is that of ``checkpoint_best.pt``."""
    curve = read_curves(model.log, "valid").get(metric)
    if not curve:
        raise UserError(f"{model.log}: this training was never validated by {metric!r}")
    return max(value for _, value in curve)


def choose(models: Sequence[Trained], metric: str, best: int) -> dict[str, float]:
    """The ``best`` settings by their mean on dev over seeds, the best first."""
    by_setting: dict[str, list[float]] = {}
    for model in models:
        by_setting.setdefault(model.setting, []).append(best_on_dev(model, metric))
    means = {setting: statistics.fmean(values) for setting, values in by_setting.items()}
    ranked = sorted(means, key=lambda setting: -means[setting])
    return {setting: means[setting] for setting in ranked[:best]}


def test_models(
    models: Sequence[Trained],
    encoder: Encoder,
    data: TrainSet,
    config: TransferConfig,
    predictions: Path,
    result: Path,
    shift: Mapping[str, Any],
) -> None:
    """Test the chosen settings with every seed; write predictions, and the scores to ``result``."""
    metric = config.figure
    chosen = choose(models, metric, config.best)
    found = []
    for model in models:
        if model.setting not in chosen:
            continue
        predictor = Predictor.load(
            model.folder / "checkpoint_best.pt",
            encoder.data,
            config.device,
            skip_bad=config.skip_bad,
            unknown_labels=config.unknown_labels,
        )
        folder = predictions / f"{model.setting}-{model.seed}"
        folder.mkdir(parents=True, exist_ok=True)
        scores = {}
        for test in data.tests:
            one = predictor.predict(test.reads, test.path)
            predictor.write(one, folder / f"{test.label}{predictor.task.format.suffix}")
            scores[test.label] = one.scores
        record = {"setting": model.setting, "seed": model.seed, "scores": scores}
        if shift["layer"]:
            dev = dict(parse_files("--shift-dev", ",".join(shift["dev"]))) if shift["dev"] else {}
            source = data.train[0][0]
            record["shifted"] = test_shifted(predictor, data.tests, source, dev, shift, metric)
        found.append(record)
    write_json(
        result,
        {
            "encoder": encoder.name,
            "trained": data.name,
            "sources": data.sources,
            "how": data.how,
            "metric": metric,
            "dev": [
                {
                    "setting": model.setting,
                    "seed": model.seed,
                    "value": best_on_dev(model, metric),
                }
                for model in models
            ],
            "chosen": chosen,
            "tests": found,
        },
    )


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
    """The number of items in each file."""
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
