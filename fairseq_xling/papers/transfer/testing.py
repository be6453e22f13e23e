"""Tests of fine-tuned models: those whose setting is best on dev, if asked also with the states of
a layer shifted towards the source language's.

Liu et al. (2020), "A Study of Cross-Lingual Ability and Language-specific Information in
Multilingual BERT", Section 4.3: XNLI, fine-tuned on English with the lower six layers frozen, is
tested with ``h' = h + alpha D`` instead of the states h of layer 6, where the mean difference shift
``D`` (Section 4.1) points from the tested language to English. The paper does not state the
direction; here ``D = mean(source) - mean(target)``. It selects alpha for each language on its dev
set, as is done here unless alpha is given. Means are over the tokens of unannotated text.
"""

import functools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.language_mean import LanguageMean
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.engine.training_log import read_curves
from fairseq_xling.interop.encoder import Encoder as LoadedEncoder
from fairseq_xling.interop.token_translation import shifting
from fairseq_xling.papers.transfer.parsing import Test, parse_alphas, parse_tests
from fairseq_xling.tasks.predict import Predictor


@torch.no_grad()
def language_mean(predictor: Predictor, lang: str, layer: int, sentences: int) -> Tensor:
    """The mean (D,) of a layer's states over the tokens of the folder's validation text.

    Special symbols are excluded. Layers are those of `Encoder.states`: a TRILayer is one of them.
    """
    task = predictor.task
    file = task.folder.mono("valid", lang)
    chosen = np.linspace(0, len(file) - 1, min(sentences, len(file))).round().astype(int)
    reader, mean = LoadedEncoder(predictor.model, task, predictor.device), LanguageMean()
    for _, batch in reader.batches([file[i] for i in chosen], lang):
        src = batch["net_input"]["src"]
        states = predictor.model.encoder.states(src, (lang, lang))[layer]
        mean.add(states[None], src["tokens"] >= SPECIALS)
    if not mean.count:
        raise UserError(f"{task.folder.path}: has no validation text of {lang!r} for its mean")
    return mean.value()[0].float()


def score_shifted(
    predictor: Predictor, tests: Sequence[Test], source: str, shift: Mapping[str, Any], metric: str
) -> dict[str, Any]:
    """Scores of every target with its states shifted, by `Test.label`, each with its alpha.

    ``shift`` has the ``layer``, ``alpha`` (a number, or ``auto``: the best of ``alphas`` on the
    file of the language in ``dev``), and the ``sentences`` of a mean.
    """
    layer, sentences = shift["layer"], shift["sentences"]
    shifted = functools.partial(shifting, predictor.model.encoder, layer, option="--shift-layer")
    centre, found = language_mean(predictor, source, layer, sentences), {}
    for test in tests:
        if test.reads == source:
            continue
        vector = centre - language_mean(predictor, test.reads, layer, sentences)
        curve: dict[float, float] = {}
        for alpha in parse_alphas(shift["alphas"]) if shift["alpha"] == "auto" else ():
            dev = shift["dev"][test.lang]
            with shifted(alpha * vector):
                scores = predictor.predict(test.reads, dev).scores
            if metric not in scores:
                raise UserError(f"`--shift-dev` {dev}: nothing in it is annotated")
            curve[alpha] = scores[metric]
        best = max(curve, key=lambda alpha: curve[alpha]) if curve else float(shift["alpha"])
        with shifted(best * vector):
            one = predictor.predict(test.reads, test.path)
        dev_curve = {f"{alpha:g}": value for alpha, value in curve.items()}
        found[test.label] = {"alpha": best, "dev": dev_curve, "scores": one.scores}
    return found


@dataclass(frozen=True)
class Trained:
    """A model of the grid: its setting, seed, folder of checkpoints, and log."""

    setting: str
    seed: int
    folder: str
    log: str


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


def score_models(
    output: str,
    predictions: str,
    about: Mapping[str, Any],
    best: int,
    metric: str,
    data: str,
    device: str,
    skip_bad: int,
    unknown_labels: str,
    settings: Sequence[str],
    seeds: Sequence[int],
    folders: Sequence[str],
    logs: Sequence[str],
    tests: Sequence[str],
    reads: Sequence[str],
    shift: Mapping[str, Any] | None = None,
) -> None:
    """Test the ``best`` settings with every seed; write predictions, and ``about`` with the scores
    to ``output``.

    Args:
        settings, seeds, folders, logs: of each model.
        tests, reads: the files to test on, as of `parse_tests`, and the language to read each as.
        shift: as of `score_shifted`.
    """
    models = [Trained(*of) for of in zip(settings, seeds, folders, logs, strict=True)]
    given = zip(parse_tests("--test", tests), reads, strict=True)
    files = [replace(test, reads=lang) for test, lang in given]
    chosen, found = choose(models, metric, best), []
    for model in models:
        if model.setting not in chosen:
            continue
        predictor = Predictor.load(
            f"{model.folder}/checkpoint_best.pt",
            data,
            device,
            skip_bad=skip_bad,
            unknown_labels=unknown_labels,
        )
        folder = Path(predictions, f"{model.setting}-{model.seed}")
        folder.mkdir(parents=True, exist_ok=True)
        scores = {}
        for test in files:
            one = predictor.predict(test.reads, test.path)
            predictor.write(one, folder / f"{test.label}{predictor.task.format.suffix}")
            scores[test.label] = one.scores
        record = {"setting": model.setting, "seed": model.seed, "scores": scores}
        if shift:
            source = about["sources"][0]
            record["shifted"] = score_shifted(predictor, files, source, shift, metric)
        found.append(record)
    dev = [
        {"setting": model.setting, "seed": model.seed, "value": best_on_dev(model, metric)}
        for model in models
    ]
    write_json(output, {**about, "metric": metric, "dev": dev, "chosen": chosen, "tests": found})
