"""The demonstration's zero-shot table: both models, fine-tuned on English, tested on German.

Wu et al. 2020 and Conneau et al. 2020 measure with it what languages share: a head that saw only
English works in another language to the extent that the states of both languages are alike.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.results.report import Section
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.gold_tasks import TASKS, tested_scores, transfer_step

SOURCE, TARGET = "en", "de"
SHOWN = ("pos", "ner", "parsing")


def transfer_steps(
    run: Path, models: Mapping[str, tuple[Path, Path]], seed: int, precision: str
) -> list[Step]:
    """A step for each task.

    Args:
        models: checkpoint and data folder by name.
    """
    return [
        transfer_step(
            f"transfer-{name}",
            TASKS[name],
            run / "transfer" / name,
            run / "text",
            [SOURCE, TARGET],
            models,
            str(seed),
            ["--precision", precision],
        )
        for name in SHOWN
    ]


def read_transfer(run: Path) -> dict[str, dict[str, dict[str, float]]]:
    """By task, model and language: the figure in percent."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in SHOWN:
        scores = tested_scores(run / "transfer" / name)[["encoder", "task", "value"]]
        for model, lang, value in scores.itertuples(index=False, name=None):
            found.setdefault(name, {}).setdefault(model, {})[lang] = value
    return found


def transfer_rows(
    found: Mapping[str, Any], titles: Mapping[str, str]
) -> tuple[list[str], list[list[Any]]]:
    """A row per task, the languages of each model across."""
    columns = [(model, lang) for model in titles for lang in (SOURCE, TARGET)]
    header = ["fine-tuned on English (%)", *(f"{titles[m]}, {lang}" for m, lang in columns)]
    rows = [
        [TASKS[name].title, *(f"{models[model][lang]:.1f}" for model, lang in columns)]
        for name in SHOWN
        if (models := found.get(name))
    ]
    return header, rows


def transfer_section(found: Mapping[str, Any], titles: Mapping[str, str]) -> Section:
    """The table in the demonstration's report."""
    header, rows = transfer_rows(found, titles)
    return Section(
        f"Zero-shot transfer from {SOURCE} to {TARGET}",
        text="Heads for parts of speech (accuracy), names (span F1) and dependency trees (labelled "
        "attachment) are trained on annotated English. Their score on German, which they never "
        "saw, measures how alike the states of the two languages are. Parameters private to one "
        "language are frozen: in the model that shares nothing, that is the whole encoder except "
        "the layer norm of its embeddings.",
        header=header,
        rows=rows,
    )
