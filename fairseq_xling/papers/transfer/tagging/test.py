"""A model of the study of adversarial tagging: test files, and what it knows of the language."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.errors import UserError
from fairseq_xling.files import write_json
from fairseq_xling.runs.training_log import read_curves
from fairseq_xling.tasks.predict import Predictor


@dataclasses.dataclass(frozen=True)
class TaggingModel:
    """One trained model: its row, target and seed, and the paths of its training and result."""

    row: str
    target: str
    seed: int
    folder: Path
    log: Path
    result: Path


def measure(
    cell: TaggingModel,
    tests: Mapping[str, Path],
    held_out: Mapping[str, Path],
    predictions: Path,
    epochs: int,
    device: str,
) -> None:
    """Write ``cell.result``, and the predictions for the test files.

    Args:
        tests: annotated files by language, opened only now.
        held_out: by language, sentences that nothing was trained on: an annotated file of the
            source, text of the target.
        epochs: how many checkpoints of epochs there are to test on the target, for the figure.
    """
    predictor = Predictor.load(cell.folder / "checkpoint_best.pt", device=device)
    predictions.mkdir(parents=True, exist_ok=True)
    metric, scores = predictor.head.metric, {}
    for lang, path in tests.items():
        found = predictor.predict(lang, path)
        if not found.annotated:
            raise UserError(f"{path}: has no tags to test by")
        predictor.write(found, predictions / f"{lang}{predictor.task.format.suffix}")
        scores[lang] = found.scores
    curves = read_curves(cell.log, "valid")
    dev = curves[metric]
    record: dict[str, Any] = {
        **{"row": cell.row, "target": cell.target, "seed": cell.seed, "metric": metric},
        "scores": scores,
        "epoch": 1 + max(range(len(dev)), key=lambda n: (dev[n][1], -n)),
        "language": _language(predictor, held_out) if held_out else None,
    }
    if epochs:
        record["curve"] = {
            "source": [value for _, value in curves.get(f"source_{metric}", dev)],
            "discriminator": [value for _, value in curves.get("language_accuracy", [])],
            "figures": [
                Predictor.load(cell.folder / f"checkpoint{epoch}.pt", device=device)
                .predict(cell.target, tests[cell.target])
                .scores[metric]
                for epoch in range(1, epochs + 1)
            ],
        }
    write_json(cell.result, record)


def _language(predictor: Predictor, held_out: Mapping[str, Path]) -> dict[str, float]:
    """The accuracy of D, if there is one, and of a fresh classifier; chance is 0.5."""
    from fairseq_xling.tasks.tagging import fresh_accuracy

    sides, right = [], []
    for lang, path in held_out.items():
        vectors, said = states_of(predictor, lang, path)
        sides.append(vectors)
        if said is not None:
            right.append(float((said == (lang == predictor.task.languages[1])).mean()))
    found = {"fresh": fresh_accuracy(*sides)}
    return {"discriminator": sum(right) / 2, **found} if right else found


def states_of(predictor: Predictor, lang: str, path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Pooled shared states (B, D) of a file's sentences, and whether D takes each for the target.

    The file is annotated if it is the source's; its tags are not used.
    """
    import torch

    from fairseq_xling.interop.encoder import to_device
    from fairseq_xling.tasks.tagging import pooled

    task = predictor.task
    items = task.read(lang, path) if lang == task.languages[0] else task.read_plain(path)
    dataset = task.make_dataset([(lang, items)])
    vectors, said = [], []
    with torch.no_grad():
        for rows in dataset.batch_by_size(dataset.ordered_indices(), 8192):
            batch = to_device(dataset.collater(rows.tolist()), predictor.device)
            found = predictor.model(**batch["net_input"])
            vectors.append(pooled(found["states"].float(), found["lengths"]).cpu().numpy())
            if "language" in found:
                said.append((found["language"] > 0).cpu().numpy())
    return np.concatenate(vectors), np.concatenate(said) if said else None
