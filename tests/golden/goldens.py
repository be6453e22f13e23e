"""Every golden: its name, what makes it, and where it is kept."""

import csv
import fnmatch
import functools
from collections.abc import Callable
from pathlib import Path

from tests.golden import data, helps, pages, plans, refusals, trainings

FOLDER = Path(__file__).parent
ALLOWED = FOLDER / "allowed.tsv"


@functools.cache
def goldens() -> dict[str, Callable[[], str]]:
    """What makes each quick golden, by name."""
    return {
        **helps.goldens(),
        **pages.goldens(),
        **plans.goldens(),
        **refusals.goldens(),
        **data.goldens(),
    }


@functools.cache
def slow_goldens() -> dict[str, Callable[[], str]]:
    """Those that take longer together than a newcomer waits."""
    return {
        **pages.slow_goldens(),
        **plans.slow_goldens(),
        **data.bound_goldens(),
        **trainings.slow_goldens(),
    }


def kept(name: str) -> Path:
    """The file of a golden."""
    return FOLDER / "kept" / f"{name}.txt"


def allowed(name: str) -> list[str]:
    """Patterns of the lines of a golden that may differ, by `ALLOWED`."""
    with open(ALLOWED, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [row["what"] for row in rows if fnmatch.fnmatchcase(name, row["golden"])]
