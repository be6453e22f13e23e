"""Runs hostile cases, each as a program of its own, and says what is wrong with how it ended.

A case is refused well if its program exits with a status other than 0 after one line that names
the argument or the file, leaves nothing behind, and takes about as much memory as valid input does.
"""

import collections
import contextlib
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.end_to_end.engine import command, environment, kill, start
from tests.tiny_world import World

GB = 1 << 30
SPARE = 1 * GB  # over what a valid call takes
SECONDS = 12  # of a processor; valid calls take one or two
PATIENCE = 10  # times as long by the clock, on a machine that does other work as well
LONGEST = 2200  # characters of a line, with the paths of this machine
MARKER = "CODE_RAN"  # what hostile code writes, in the folder of its case

# What may be wrong, the worst first.
CODE, HANG, MEMORY, TRACEBACK, ACCEPTED, REFUSED, LEFT, UNNAMED, LINES = KINDS = (
    "code run",
    "hang",
    "memory",
    "traceback",
    "silent acceptance",
    "refused though intended",
    "left behind",
    "message names nothing",
    "not one line",
)


@dataclass(frozen=True)
class Case:
    """One hostile file, or hostile options.

    Attributes:
        name: unique; a reader finds the case by it.
        call: the program and its words in one text; ``{w}`` is the world's folder, ``{h}`` the
            case's own, which is also the working directory.
        make: writes the case's files into its folder.
        names: any of these in the message is enough; names of the case's own files are, as well.
        accepted: why this is no mistake, where the program should end well.
        either: why this does no harm where it is not noticed.
        keeps: why a refusal may leave files behind, such as finished steps.
    """

    name: str
    call: str
    make: Callable[[World, Path], object] = lambda world, here: None
    names: Sequence[str] = ()
    accepted: str = ""
    either: str = ""
    keeps: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a program ended."""

    status: int
    printed: str
    seconds: float
    peak: int
    hung: bool = False
    left: Sequence[str] = ()
    marked: bool = False


@dataclass
class Report:
    """What is wrong, by case."""

    tried: int = 0
    found: dict[str, tuple[str, str]] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Failing cases of each of `KINDS`."""
        seen = collections.Counter(kind for kind, _ in self.found.values())
        return {kind: seen[kind] for kind in KINDS}

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts().items() if count)
        lines = [f"{len(self.found)} of {self.tried} cases fail: {kinds or 'none'}"]
        lines += [f"  [{kind}] {name}: {text}" for name, (kind, text) in self.found.items()]
        return "\n".join(lines)


def _listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file below ``folder`` with its size and time, and each folder that is empty."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in files:
            stat = os.lstat(os.path.join(parent, name))
            found[os.path.relpath(os.path.join(parent, name), folder)] = (
                stat.st_size,
                stat.st_mtime_ns,
            )
        if not folders and not files and parent != str(folder):
            found[os.path.relpath(parent, folder) + "/"] = (0, 0)
    return found


def _use(process: psutil.Process) -> tuple[int, float]:
    """Bytes of memory that ``process`` has had at most and those that it started have now, and
    seconds of a processor that they have taken."""
    with contextlib.suppress(psutil.Error, OSError, StopIteration, ProcessLookupError):
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) * 1024
        children = process.children(recursive=True)
        peak += sum(child.memory_info().rss for child in children)
        return peak, sum(sum(one.cpu_times()[:2]) for one in (process, *children))
    return 0, 0.0


def perform(argv: Sequence[str], here: Path, limit: int, seconds: float = SECONDS) -> Outcome:
    """``argv`` in the folder ``here``, ended where it takes more than ``limit`` bytes or hangs.

    The limit is one on the memory that the process itself allocates, so that an allocation fails
    before the machine is without memory, and on what it is seen to use.
    """
    before = _listing(here)
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        env = {**environment(), "PYTHONUNBUFFERED": "1"}  # what was said last comes last
        process = start(command(*argv), output, output, cwd=here, env=env)
        peak, hung = 0, False
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            watched = psutil.Process(process.pid)
            data = resource.prlimit(process.pid, resource.RLIMIT_DATA)
            allowed = watched.memory_info().data + limit
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (allowed, data[1]))
            wait = 0.01
            while True:
                try:
                    process.wait(timeout=wait)
                    break
                except subprocess.TimeoutExpired:
                    now, busy = _use(watched)
                    peak = max(peak, now)
                    clock = time.monotonic() - began
                    hung = busy > seconds or clock > PATIENCE * seconds
                    if hung or peak > limit + SPARE:
                        kill(process)
                        break
                    wait = min(0.1, wait * 1.2)
        status = process.wait(timeout=30)
        took = time.monotonic() - began
        output.seek(0)
        printed = output.read(1 << 20).decode("utf-8", "replace")
    after = _listing(here)
    changed = [name for name in after.keys() | before.keys() if after.get(name) != before.get(name)]
    return Outcome(status, printed, took, peak, hung, sorted(changed), (here / MARKER).exists())


_STEP_FAILED = re.compile(r"error: step '.*' failed with exit status")
_STAMP = re.compile(r"/\.steps/[^/]+\.json$")
_ERROR = re.compile(r"^(\S+: )?error: |^fairseq-\S+( \S+)*: error: ")
# Of an interpreter or an engine that has given up on memory.
_NO_MEMORY = re.compile(
    r"MemoryError|not enough memory|can't allocate memory|Cannot allocate memory|std::bad_alloc"
    r"|Unable to allocate",
    re.I,
)


def judge(case: Case, outcome: Outcome, limit: int, files: Iterable[str]) -> tuple[str, str] | None:
    """The worst thing that is wrong, as one of `KINDS` and a text; None where nothing is.

    Args:
        limit: bytes of memory.
        files: names of the case's own files, any of which the message may name.
    """
    lines = [line for line in outcome.printed.splitlines() if line.strip()]
    if lines and _STEP_FAILED.search(lines[-1]):  # what the step said stands above, set off
        lines = [line[4:] for line in lines if line.startswith("  | ")]
    last = lines[-1] if lines else ""
    said = last[:300]
    if outcome.marked:
        return CODE, said
    if outcome.hung:
        return HANG, f"more than {outcome.seconds:.0f} s; {said}"
    if outcome.peak > limit or _NO_MEMORY.search(outcome.printed):
        return MEMORY, f"{outcome.peak / GB:.1f} GB, {outcome.seconds:.0f} s; {said}"
    if outcome.status < 0:
        return MEMORY if outcome.status == -9 else TRACEBACK, f"signal {-outcome.status}; {said}"
    if "Traceback (most recent call last)" in outcome.printed:
        return TRACEBACK, said
    if not outcome.status:
        return None if case.accepted or case.either else (ACCEPTED, said)
    if case.accepted:
        return REFUSED, f"{said} (intended, because {case.accepted})"
    # fairseq-train makes its folder of checkpoints to see whether it may write there.
    trains = case.call.startswith("fairseq-train")
    left = [name for name in outcome.left if not (trains and name.endswith("/"))]
    begun = any(_STAMP.search(name) for name in left)  # a run keeps what its steps left
    if left and not case.keeps and not begun:
        return LEFT, f"{', '.join(left[:5])}; {said}"
    errors = [line for line in lines if _ERROR.match(line)]
    if not errors or errors != lines[-1:] or len(last) > LONGEST:
        return LINES, f"{len(errors)} errors of {len(last)} characters at the end; {said}"
    if not any(name in last for name in (*case.names, *files)):
        return UNNAMED, said
    return None


def words_of(call: str, world: World, here: Path) -> list[str]:
    """The program of a call and its words; ``\\s`` stands for a space inside of one."""
    return [
        word.replace("{w}", str(world.root)).replace("{h}", str(here)).replace("\\s", " ")
        for word in call.split(" ")
        if word
    ]


def files_read(call: str, world: World, limit: int = 4 * SPARE) -> set[Path]:
    """The files of the world that a call opens and reads, below its root.

    The system's times of access tell; all files, where it keeps none.
    """
    files = [path for path in world.root.rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (0, path.stat().st_mtime))
    with tempfile.TemporaryDirectory(dir=world.root.parent) as here:
        outcome = perform(words_of(call, world, Path(here)), Path(here), limit)
    assert not outcome.status, f"{call}: {outcome.printed[-2000:]}"
    found = {path.relative_to(world.root) for path in files if path.stat().st_atime}
    return found or {path.relative_to(world.root) for path in files}


def try_case(case: Case, world: World, limit: int) -> tuple[str, str] | None:
    """Make the files of ``case`` in a folder of its own, run it, and `judge` it."""
    here = Path(tempfile.mkdtemp(prefix="case-", dir=world.root.parent))
    try:
        case.make(world, here)
        files = [path.name for path in here.rglob("*")]
        before = _listing(world.root)
        outcome = perform(words_of(case.call, world, here), here, limit)
        wrong = judge(case, outcome, limit, files)
        if wrong is None and _listing(world.root) != before:
            return LEFT, "among the valid files, which are another user's"
        return wrong
    finally:
        shutil.rmtree(here, ignore_errors=True)


def try_all(cases: Iterable[Case], world: World, limit: int) -> Report:
    """`try_case` for each; names must differ.

    ``HOSTILE_REPORT`` in the environment names a file to which failing cases are appended.
    """
    report, names = Report(), set()
    for case in cases:
        assert case.name not in names, f"two cases are named {case.name!r}"
        names.add(case.name)
        wrong = try_case(case, world, limit)
        report.tried += 1
        if wrong is not None:
            report.found[case.name] = wrong
    if os.environ.get("HOSTILE_REPORT"):
        with open(os.environ["HOSTILE_REPORT"], "a", encoding="utf-8") as file:
            file.write(f"{report}\n")
    return report
