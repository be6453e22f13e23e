"""A model of the study of adversarial tagging: test files, and what it knows of the language."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.engine.training_log import read_curves
from fairseq_xling.tasks.predict import Predictor
from fairseq_xling.workflow.recipe import Cell


def measure(
    cell: Cell,
    folder: Path,
    log: Path,
    tests: Mapping[str, Path],
    held_out: Mapping[str, Path],
    predictions: Path,
    epochs: int,
    device: str,
) -> None:
    """Write the cell's result, and the predictions for the test files.

    Args:
        cell: what it is a model of; folder, log: of its training.
        tests: annotated files by language, opened only now.
        held_out: by language, sentences that nothing was trained on: an annotated file of the
            source, text of the target.
        epochs: how many checkpoints of epochs there are to test on the target, for the figure.
    """
    predictor = Predictor.load(folder / "checkpoint_best.pt", device=device)
    predictions.mkdir(parents=True, exist_ok=True)
    metric, scores, target = predictor.head.metric, {}, cell.about["target"]
    for lang, path in tests.items():
        found = predictor.predict(lang, path)
        if not found.annotated:
            raise UserError(f"{path}: has no tags to test by")
        predictor.write(found, predictions / f"{lang}{predictor.task.format.suffix}")
        scores[lang] = found.scores
    curves = read_curves(log, "valid")
    dev = curves[metric]
    record: dict[str, Any] = {
        **cell.about,
        "metric": metric,
        "scores": scores,
        "epoch": 1 + max(range(len(dev)), key=lambda n: (dev[n][1], -n)),
        "language": _language(predictor, held_out) if held_out else None,
    }
    if epochs:
        record["curve"] = {
            "source": [value for _, value in curves.get(f"source_{metric}", dev)],
            "discriminator": [value for _, value in curves.get("language_accuracy", [])],
            "figures": [
                Predictor.load(folder / f"checkpoint{epoch}.pt", device=device)
                .predict(target, tests[target])
                .scores[metric]
                for epoch in range(1, epochs + 1)
            ],
        }
    write_json(cell.files["result"], record)


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
