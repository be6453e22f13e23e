"""The slow tests in parts of about half an hour on two processors, and when each was last green.

    make test-slow PART=kill        carries out a part, going on where it was interrupted
    make test-slow PART=next        the one whose turn it is, by the number of commits, as `.ci/run`
    python -m tests.slow_parts      says in one line which parts were not green of late

What has passed is noted in ``build/slow``, for one state of the source: a new commit, or a change
that is not committed, starts anew. A part that came to its end leaves its line in `TABLE`.
"""

import csv
import fnmatch
import hashlib
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairseq_xling.core.files import atomic_write

ROOT = Path(__file__).parent.parent
TABLE = Path("tests/slow.tsv")
HEADER = ("part", "commit", "machine", "passed", "failed", "skipped", "minutes")
OLD = 150  # commits
NEXT = "next"
CHANGED = "+"  # behind a commit: the source had changes that were not committed

_ENDED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,  # all had passed
)
_TESTS = "tests/end_to_end/test_"
# Part: patterns of the names of its tests. A test is in the first part of which one fits.
PARTS: dict[str, tuple[str, ...]] = {
    # First what is short: without the history of commits, as in a shallow clone, it is their turn.
    "kill": ("tests/kill/*",),
    "golden": ("tests/golden/*",),
    # Chunks 0 to 29, and the others.
    "hostile-checkpoints-1": (
        "tests/hostile/*::test_hostile_checkpoints_*[[]?]",
        "tests/hostile/*::test_hostile_checkpoints_*[[][12]?]",
    ),
    "hostile-checkpoints-2": ("tests/hostile/*::test_hostile_checkpoints_*",),
    "hostile-folders": ("tests/hostile/*::test_hostile_data_folders_*",),
    "hostile-files": ("tests/hostile/*::test_hostile_files_*",),
    "hostile-options": ("tests/hostile/*",),
    "slurm": ("tests/slurm/*", "tests/unit/workflow/launchers/*"),
    "benchmarks": (f"{_TESTS}benchmark*",),
    "examples-transfer": (f"{_TESTS}transfer_examples.py*",),
    "examples": (f"{_TESTS}*_examples.py*",),
    "pages": (f"{_TESTS}how_to.py*", f"{_TESTS}docs_site.py*"),
    "tutorials": (f"{_TESTS}tutorials.py*", f"{_TESTS}notebooks.py*"),
    **{f"demo-small-{n}": (f"{_TESTS}demo.py::*small*-{n}]",) for n in (1, 2, 3)},
    **{f"demo-mini-{n}": (f"{_TESTS}demo.py::*mini*-{n}]",) for n in (2, 3)},
    "demo-mini-1": (f"{_TESTS}demo.py*",),
    "trelm-studies": (f"{_TESTS}trelm.py::*stud*", f"{_TESTS}trelm.py::*transfers*"),
    "trelm": (f"{_TESTS}trelm*",),
    "studies": (
        *(f"{_TESTS}ablate*", f"{_TESTS}adversarial*", f"{_TESTS}clcr*", f"{_TESTS}emissions*"),
        *(f"{_TESTS}mapped_layers*", f"{_TESTS}similarity*", f"{_TESTS}size_window*"),
    ),
    "processes": (f"{_TESTS}several_processes*", f"{_TESTS}processes*"),
    "programs": ("tests/end_to_end/*",),
    "units": ("tests/unit/*",),
}


def part_of(test: str) -> str | None:
    """The part that a test is in, if it is in one."""
    for part, patterns in PARTS.items():
        if any(fnmatch.fnmatchcase(test, pattern) for pattern in patterns):
            return part
    return None


def _git(*words: str, root: Path = ROOT) -> str | None:
    """What git answers; nothing where there is no git, or it does not know."""
    try:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def commit(root: Path) -> tuple[str, str]:
    """The commit, marked if the source has changes beside the table, and a name of this state."""
    changes = _git("diff", "HEAD", "--", ".", f":!{TABLE}", root=root)
    name = (_git("rev-parse", "--short", "HEAD", root=root) or "unknown") + (
        CHANGED if changes else ""
    )
    return name, f"{name}-{hashlib.sha256((changes or '').encode()).hexdigest()[:8]}"


def machine() -> str:
    """Model and number of the processors."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    models = re.findall(r"^model name\s*: (.+)$", text, re.M)
    return f"{models[0] if models else platform.machine()}, {len(models) or 'unknown'} cores"


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """The line of each part that has one."""
    if not path.is_file():
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["part"]: row for row in csv.DictReader(file, delimiter="\t")}


def write_line(path: Path, row: dict[str, Any]) -> None:
    """Put the line of a part in the place of its earlier one."""
    rows = {**read_table(path), row["part"]: row}
    with atomic_write(path, "w") as file:
        writer = csv.DictWriter(file, HEADER, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[part] for part in PARTS if part in rows)


class Record:
    """What became of the tests of a part, noted as each ends, so that no kill loses it."""

    def __init__(self, path: Path):
        self._path = path
        self._begun = time.time()

    def note(self, test: str, outcome: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        seconds = time.time() - self._begun
        with open(self._path, "a", encoding="utf-8") as file:
            # A newline first: the last line of a killed run may have none.
            file.write("\n" + json.dumps([test, outcome, self._begun, seconds]))

    def _lines(self) -> Iterator[list[Any]]:
        text = self._path.read_text(encoding="utf-8") if self._path.is_file() else ""
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:  # empty, or the last one of a killed run
                continue

    def outcomes(self) -> dict[str, str]:
        """Of each test, the last."""
        return {test: outcome for test, outcome, _, _ in self._lines()}

    def minutes(self) -> float:
        """Of all sessions together."""
        sessions = {begun: seconds for _, _, begun, seconds in self._lines()}
        return round(sum(sessions.values()) / 60, 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow-part", choices=PARTS, help="carry out this part of the slow tests")


def pytest_configure(config: pytest.Config) -> None:
    if part := config.getoption("--slow-part"):
        config.pluginmanager.register(_Part(config, part), "slow-part")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and part_of(item.nodeid) is None:
            raise pytest.UsageError(f"{item.nodeid} is slow: name its part in tests/slow_parts.py")


class _Part:
    """Leaves the tests of one part that have not passed, and notes what becomes of them."""

    def __init__(self, config: pytest.Config, part: str):
        self._config, self._part = config, part
        self._commit, state = commit(config.rootpath)
        self._record = Record(config.rootpath / "build" / "slow" / f"{part}-{state}.jsonl")
        self._outcomes: dict[str, str] = {}  # of those that did not pass

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        done = {test for test, outcome in self._record.outcomes().items() if outcome != "failed"}
        chosen = [
            item
            for item in items
            if item.get_closest_marker("slow")
            and part_of(item.nodeid) == self._part
            and item.nodeid not in done
        ]
        self._config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(self._config, "workerinput"):  # the process that these report to takes note
            return
        if report.failed or (report.skipped and report.nodeid not in self._outcomes):
            self._outcomes[report.nodeid] = report.outcome
        if report.failed or report.when == "teardown":  # that of a dead worker has no teardown
            self._record.note(report.nodeid, self._outcomes.get(report.nodeid, "passed"))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if hasattr(self._config, "workerinput") or exitstatus not in _ENDED:
            return
        if self._config.getoption("keyword"):  # of a part of the part
            return
        outcomes = list(self._record.outcomes().values())
        counts = {name: outcomes.count(name) for name in ("passed", "failed", "skipped")}
        about = {"part": self._part, "commit": self._commit, "machine": machine()}
        write_line(
            self._config.rootpath / TABLE, {**about, **counts, "minutes": self._record.minutes()}
        )


def warning(path: Path) -> str:
    """One line on the parts that were not green in the last `OLD` commits; empty if all were."""
    rows = read_table(path)
    states = {part: _state(rows.get(part)) for part in PARTS}
    said = "; ".join(
        f"{state}: {', '.join(part for part in PARTS if states[part] == state)}"
        for state in dict.fromkeys(filter(None, states.values()))
    )
    return f"slow tests {said}; run `make test-slow PART=NAME`" if said else ""


def _state(row: dict[str, str] | None) -> str:
    """What is to be said of a part's line."""
    if row is None:
        return "never run"
    if row["failed"] != "0" or row["passed"] == "0":
        return "not green"
    age = _git("rev-list", "--count", f"{row['commit'].rstrip(CHANGED)}..HEAD")
    if age is None:
        return "of a commit that git does not have here"
    return f"green more than {OLD} commits ago" if int(age) > OLD else ""


def run(parts: list[str]) -> int:
    """Carry out parts one after another; the exit status."""
    failed = []
    for part in parts:
        print(f"slow tests: {part}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
        status = subprocess.run([*command, "--slow-part", part, "tests"], cwd=ROOT).returncode
        if status == pytest.ExitCode.INTERRUPTED:
            return status
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            failed.append(part)
    if failed:
        print(f"slow tests: red: {', '.join(failed)}")
    return bool(failed)


def whose_turn() -> str:
    """A part, by the number of commits: each has its turn, and nobody has to remember which."""
    count = _git("rev-list", "--count", "HEAD")
    return list(PARTS)[int(count or 0) % len(PARTS)]


if __name__ == "__main__":
    if sys.argv[1:] == ["run", NEXT]:
        sys.exit(run([whose_turn()]))
    if sys.argv[1:2] == ["run"]:
        unknown = [name for name in sys.argv[2:] if name not in PARTS]
        if unknown:
            sys.exit(f"slow tests: error: unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
        sys.exit(run(sys.argv[2:] or list(PARTS)))
    if said := warning(ROOT / TABLE):
        print(said)
