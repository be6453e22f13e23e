"""Several starts of T, of which the best goes on.

Which words T takes for each other is settled early in its training and seldom taken back: two words
that stand in every sentence may change places, and every other pair that is found then is found
around them. So what one seed finds says little. Starts are short trainings that differ in their
seed alone, and the one goes on whose transforms are nearest to the translations: no word alignment
is looked at, and nothing but D, as in training. The paper has one start; this is a choice here.

Compared is D with the best partner alone (`hard_*`), since mixtures are near to anything, over the
spread of the target, so that both directions count.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, write_json
from fairseq_xling.runs.training_log import read_curves


class Start(NamedTuple):
    """One training: its seed, the checkpoint that it hands on, and its log."""

    seed: int
    checkpoint: Path
    log: Path


def relative_hard_distance(log: Path, pair: tuple[str, str]) -> float:
    """D with the best partner alone over the target's spread, the sum of both directions, at the
    end of training on valid.

    Raises:
        UserError: if the log has none, as where nothing was validated.
    """
    curves = read_curves(log, "valid")
    total = 0.0
    for lang, other in (pair, pair[::-1]):
        names = (f"hard_{lang}_{other}", f"spread_{other}")
        for name in names:
            if name not in curves:
                raise UserError(f"{log}: no validation has {name}, so no start can be chosen")
        hard, spread = (curves[name][-1][1] for name in names)
        total += hard / spread if spread else float("inf")
    return total


def choose_start(
    starts: Sequence[Start], pair: tuple[str, str], chosen: Start, report: Path
) -> None:
    """Copy the best of ``starts`` to where ``chosen`` says; of equal ones the first.

    Args:
        chosen: its seed is of no account.
        report: JSON, all starts with their distances, the best one first.

    Raises:
        UserError: if a log has no validation.
    """
    distances = [relative_hard_distance(start.log, pair) for start in starts]
    ranked = sorted(zip(distances, starts, strict=True), key=lambda item: item[0])
    best = ranked[0][1]
    for source, target in ((best.checkpoint, chosen.checkpoint), (best.log, chosen.log)):
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as given, atomic_write(target) as copy:
            shutil.copyfileobj(given, copy)
    report.parent.mkdir(parents=True, exist_ok=True)
    write_json(
        report,
        [
            {"seed": start.seed, "relative_hard_distance": distance, "model": str(start.checkpoint)}
            for distance, start in ranked
        ],
    )
