"""Every golden: its name, what makes it, and where it is kept."""

import csv
import fnmatch
import functools
import json
import platform
from collections.abc import Callable
from pathlib import Path

from tests.golden import data, helps, measures, pages, plans, refusals, trainings
from tests.slow_parts import machine

FOLDER = Path(__file__).parent
ALLOWED = FOLDER / "allowed.tsv"
MADE_WITH = FOLDER / "made_with.json"


@functools.cache
def goldens() -> dict[str, Callable[[], str]]:
    """What makes each quick golden, by name."""
    return {
        **helps.goldens(),
        **pages.goldens(),
        **plans.goldens(),
        **refusals.goldens(),
        **data.goldens(),
        **measures.goldens(),
    }


@functools.cache
def slow_goldens() -> dict[str, Callable[[], str]]:
    """Those that take longer together than a newcomer waits."""
    return {
        **pages.slow_goldens(),
        **plans.slow_goldens(),
        **data.slow_goldens(),
        **measures.slow_goldens(),
        **data.bound_goldens(),
        **trainings.slow_goldens(),
    }


def kept(name: str) -> Path:
    """The file of a golden."""
    return FOLDER / "kept" / f"{name}.txt"


def made_with() -> dict[str, str]:
    """What may decide a golden beside the code: the Python's minor version and the processor."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "processor": machine().rpartition(",")[0],
    }


def unlike(name: str) -> str:
    """Why a golden cannot be compared here; empty if it can be."""
    recorded = json.loads(MADE_WITH.read_text(encoding="utf-8"))
    what = "processor" if name.startswith("bound/") else "python"
    here = made_with()[what]
    return "" if recorded[what] == here else f"made with {what} {recorded[what]}, here is {here}"


def allowed(name: str) -> list[str]:
    """Patterns of the lines of a golden that may differ, by `ALLOWED`."""
    with open(ALLOWED, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [row["what"] for row in rows if fnmatch.fnmatchcase(name, row["golden"])]
