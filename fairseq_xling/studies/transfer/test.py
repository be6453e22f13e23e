"""Select settings on dev, and test the resulting models."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.runs.training_log import read_curves
from fairseq_xling.studies.transfer.config import TransferConfig
from fairseq_xling.studies.transfer.plan import Encoder, TrainSet
from fairseq_xling.tasks.items import parse_files
from fairseq_xling.tasks.predict import Predictor


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
            from fairseq_xling.studies.transfer.shifted import test_shifted

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
