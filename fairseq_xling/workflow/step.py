"""One step of a run: what it reads, what it executes, what it leaves, and whether it is done.

A step is done when its stamp holds the digest of everything that decides its result (commands,
settings, inputs, version of this package) and its outputs are still as it left them. What a command
reads is inferred from its words (`workflow.commands`).
"""

import dataclasses
import functools
import glob
import hashlib
import itertools
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import (
    check_files,
    on_disk,
    read_record,
    remove,
    sha256,
    stat_of,
    write_json,
)
from fairseq_xling.engine import extensions
from fairseq_xling.version import USER_DIR, VERSION
from fairseq_xling.workflow.commands import all_pieces, named_files

_ENTRIES = {  # of a stamp
    "digest": str,
    "state": str,
    "outputs": dict,
    "begun": int,
    "seconds": int | float,
    "message": str,
}
_LATENCY = 5.0  # seconds, after which a machine sees what another has written on a shared disk


@dataclasses.dataclass(frozen=True)
class Step:
    """A unit of work that is skipped when done and starts cleanly otherwise.

    Attributes:
        name: unique in its run; names the stamp and the log.
        commands: argument lists, run one after the other with output to the step's log.
        late: gives more arguments for the last command, known only once the inputs are there (such
            as how long an earlier step took); what decides them is in ``settings`` or ``inputs``.
        call: instead of commands, a Python function; what decides its result is in ``settings``.
        device: where ``call`` computes; commands say it in their options.
        settings: anything else that decides the result (JSON values).
        inputs: files or folders it reads besides those that its commands name.
        unread: the same, of which names, sizes and times stand for what they hold: nobody may look
            into them before, or they are too large for that.
        outputs: files or folders it leaves.
        resumable: the commands resume from what an interrupted call left in ``outputs``; without
            it the outputs are removed first.
        progress: turns the path of the log into a few words on how far the step has come.
        effort: seconds that it takes on two common cores, to estimate the time left; 0 where
            nobody knows.
    """

    name: str
    commands: Sequence[Sequence[str]] = ()
    late: Callable[[], Sequence[str]] | None = None
    call: Callable[[], None] | None = None
    device: str = "cpu"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    inputs: Sequence[Path] = ()
    unread: Sequence[Path] = ()
    outputs: Sequence[Path] = ()
    resumable: bool = False
    progress: Callable[[Path], str] | None = None
    effort: float = 0.0

    def __post_init__(self) -> None:
        if bool(self.commands) == (self.call is not None):
            raise ValueError(f"step {self.name!r} needs either commands or a function")

    def log(self, run: Path) -> Path:
        """Where the output of its commands goes."""
        return run / "logs" / f"{self.name}.log"

    def reads(self, other: "Step") -> bool:
        """Whether it reads what ``other`` makes, or some of that."""
        return other.name != self.name and other in Plan([other, self]).before[self.name]


def gpus_of(step: Step) -> int:
    """The number of GPUs that a step needs; -1 for a training on all that it finds.

    >>> gpus_of(Step("a", [["fairseq-train", "data", "--distributed-world-size", "8"]]))
    8
    >>> gpus_of(Step("a", [["fairseq-xling", "eval", "model.pt", "--device", "cuda"]]))
    1
    >>> gpus_of(Step("a", [["fairseq-train", "data", "--cpu"]]))
    0
    """
    needed = [int(step.device.startswith("cuda"))]
    for program, *words in step.commands:
        after = dict(itertools.pairwise(words))
        if Path(program).name == "fairseq-xling":
            needed.append(int(after.get("--device", "cpu").startswith("cuda")))
        elif Path(program).name.startswith("fairseq-") and "--cpu" not in words:
            training = Path(program).name == "fairseq-train"
            needed.append(int(after.get("--distributed-world-size", -1 if training else 1)))
    return -1 if -1 in needed else max(needed)


class Plan:
    """Steps, in an order in which they could run, and what each of them reads, by its name."""

    def __init__(self, steps: Sequence[Step]):
        self.steps = steps
        self.before: dict[str, list[Step]] = {}  # those whose outputs it reads, in their order
        self.outside: dict[str, list[Path]] = {}  # files and folders that none of them makes
        self.unread: dict[str, list[Path]] = {}  # the same, of what nobody may look into
        makers: dict[Path, list[int]] = {}

        def makers_of(path: Path) -> list[int]:
            return [n for place in (path, *path.parents) for n in makers.get(place, ())]

        for number, step in enumerate(steps):
            if step.name in self.before:
                raise ValueError(f"two steps are called {step.name!r}")
            found: set[int] = set()
            outside = {False: dict.fromkeys(step.inputs), True: dict.fromkeys(step.unread)}
            for text, held in [word for c in step.commands for word in named_files(c)]:
                for piece in all_pieces(text):
                    path = Path(piece)
                    if "{" in piece and not makers_of(path):
                        path = Path(piece.partition("{")[0])
                    if makers_of(path):
                        outside[False][path] = None
                        continue
                    given = [*step.inputs, *step.unread, *step.outputs]
                    for one in _existing(piece):
                        if not any(path == one or path in one.parents for path in given):
                            outside[held][one] = None
            for paths in outside.values():
                for path in list(paths):
                    if made := makers_of(path):
                        found.update(made)
                        del paths[path]
            self.before[step.name] = [steps[maker] for maker in sorted(found)]
            self.outside[step.name], self.unread[step.name] = map(list, outside.values())
            for path in step.outputs:
                makers.setdefault(path, []).append(number)

    def needed(self, name: str) -> set[str]:
        """The step of this name, and all that it builds on."""
        needed = {name}
        for step in reversed(self.steps):
            if step.name in needed:
                needed |= {other.name for other in self.before[step.name]}
        return needed

    def digests(self, names: Iterable[str] | None = None) -> dict[str, str]:
        """Digest of every step by name, or of those of ``names``, which build on no others; a
        change anywhere changes all steps that build on it.

        Files from outside count by their names and contents, not by their folders: the same encoder
        in another environment, or on another machine, leaves done what is done.
        """
        result: dict[str, str] = {}
        content = functools.cache(_content)  # many steps read the same large folder
        own = _own_code()
        for step in self.steps:
            if names is not None and step.name not in names:
                continue
            outside, unread = self.outside[step.name], self.unread[step.name]
            check_files(*unread)
            facts = {
                "commands": [list(command) for command in step.commands],
                "settings": dict(step.settings),
                "before": [result[other.name] for other in self.before[step.name]],
                "outside": [content(path) for path in outside],
                # What tells that a file has changed, without looking into it.
                "unread": [[stat.st_size, stat.st_mtime_ns] for stat in map(stat_of, unread)],
                "version": VERSION,
                **({"own": own} if own else {}),
            }
            folders = [*outside, *unread, USER_DIR, *map(Path, extensions.named_folders())]
            text = _without_folders(json.dumps(facts, sort_keys=True, default=str), folders)
            result[step.name] = hashlib.sha256(text.encode()).hexdigest()
        return result

    def refuse_removed_inputs(self) -> None:
        """Check that no step removes, as left by an earlier run, what one reads from outside."""
        makers = {os.path.realpath(path): step for step in self.steps for path in step.outputs}
        for step in self.steps:
            for path in (*self.outside[step.name], *self.unread[step.name]):
                place = Path(os.path.realpath(path))
                for above in map(str, (place, *place.parents)):
                    if above in makers:
                        raise UserError(
                            f"step {step.name!r} reads {path}, which step {makers[above].name!r} "
                            "of this run would write over; choose another `--output`"
                        )


def _existing(piece: str) -> list[Path]:
    """The files and folders from outside that a word names; those of a pattern such as
    ``{lang}.txt`` that there are."""
    if len(parts := re.split(r"\{\w+\}", piece)) > 1:
        return sorted(map(Path, glob.glob("*".join(map(glob.escape, parts)))))
    # Unlike `Path.is_file`, of names that are too long as well.
    return [Path(piece)] if os.path.exists(on_disk(piece)) else []


def _own_code() -> dict[str, str]:
    """Digests of the Python files in the folders of `--user-dir`, by name."""
    found = {}
    for folder in map(Path, extensions.named_folders()):
        for place, inner, files in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]  # environments
            for file in (Path(place, name) for name in files if name.endswith(".py")):
                found[f"{folder.name}/{file.relative_to(folder)}"] = sha256(file)
    return found


def _without_folders(text: str, paths: Sequence[Path]) -> str:
    """JSON in which each of ``paths`` has its number instead of the folder that it lies in.

    >>> _without_folders('["cut", "/home/me/a.txt", "--with=/home/me/a.txt.gz"]',
    ...                  [Path("/home/me/a.txt"), Path("/home/me/a.txt.gz")])
    '["cut", "0/a.txt", "--with=1/a.txt.gz"]'
    """
    numbered = sorted(enumerate(paths), key=lambda one: -len(str(one[1])))  # a.txt is in a.txt.gz
    for number, path in numbered:
        if len(path.parts) > 1:
            # As it was called when runs that may still be resumed began.
            name = "user_dir" if path == USER_DIR else path.name
            text = text.replace(json.dumps(str(path))[1:-1], f"{number}/{name}")
    return text


def _content(path: Path) -> Any:
    if on_disk(path).is_file():
        return sha256(on_disk(path))
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return {str(file.relative_to(path)): sha256(file) for file in files}
    raise UserError(f"{path}: no such file or folder")


class Stamp:
    """The record of a step in ``<run>/.steps/<name>.json``: states new, interrupted and done."""

    def __init__(self, folder: Path, step: Step, digest: str):
        self._folder, self._step, self.digest = folder, step, digest
        self.path = folder / ".steps" / f"{step.name}.json"
        self._before, self._start, self._over, self._begun = 0.0, None, False, 0
        self._lock = threading.Lock()

    def state(self) -> str:
        """``done``, ``interrupted`` (same digest, unfinished, and resumable) or ``new``."""
        record = read_stamp(self.path)
        if record.get("digest") != self.digest:
            return "new"
        if record.get("state") == "done":
            return "done" if record.get("outputs") == self._sizes() else "new"
        return "interrupted" if self._step.resumable else "new"

    def begin(self) -> None:
        """Note that the step runs, after removing what an earlier, other run of it left."""
        interrupted = self.state() == "interrupted"
        if not interrupted:
            for path in self._step.outputs:
                _remove(path, self._folder)
        self._before = self.seconds() if interrupted else 0.0
        self._begun = self.begun() + 1
        self._start, self._over = time.monotonic(), False
        self.tick()

    def tick(self) -> None:
        """Note how long the step has run, so that this is known if it is killed."""
        self._note({"state": "running", "begun": self._begun}, over=False)

    def fail(self, message: str) -> None:
        """Note that the step failed since `begin`, for those who wait for it elsewhere."""
        self._note({"state": "failed", "begun": self._begun, "message": message}, over=True)

    def finish(self) -> None:
        """Note that the step is done, which it is not without the outputs it declares."""
        for path in self._step.outputs:
            if not path.exists():
                raise UserError(f"step {self._step.name!r} ended without making {path}")
        self._note({"state": "done", "outputs": self._sizes()}, over=True)

    def begun(self) -> int:
        """How often the step was begun since it was new."""
        record = read_stamp(self.path)
        return record.get("begun", 0) if record.get("digest") == self.digest else 0

    def failure(self) -> str:
        """What `fail` noted, empty if that is not how the step ended last."""
        return read_stamp(self.path).get("message", "")

    def seconds(self) -> float:
        """How long the step took, or has taken so far; parts before a kill count."""
        return float(read_stamp(self.path).get("seconds", 0.0))

    def _note(self, record: Mapping[str, Any], over: bool) -> None:
        with self._lock:
            if self._start is not None and not self._over:
                self._over = over
                spent = round(self._before + time.monotonic() - self._start, 1)
                write_json(self.path, {**record, "digest": self.digest, "seconds": spent})

    def _sizes(self) -> dict[str, int]:
        within = (p.rglob("*") if p.is_dir() else [p] for p in self._step.outputs)
        files = sorted(file for file in itertools.chain(*within) if file.is_file())
        return {str(file): file.stat().st_size for file in files}


def seconds_taken(folder: Path, steps: Iterable[Step]) -> float:
    """How long ``steps`` took in a run, one after another, those under way as far as they came."""
    return round(sum(Stamp(folder, step, "").seconds() for step in steps), 1)


def read_stamp(stamp: Path) -> dict[str, Any]:
    """What a `Stamp` has noted; nothing if there is none, or it is damaged."""
    record = read_record(stamp, _ENTRIES)
    for name in ("begun", "seconds"):
        if not 0 <= record.get(name, 0) < 2**53:
            del record[name]
    return record


def _remove(path: Path, run: Path) -> None:
    """Remove an output, whose folders may be links to other disks; nothing of what it leads to
    itself if it is a link, but for a folder that is empty, which stays the place of the output.
    """
    if Path(os.path.abspath(run)) not in Path(os.path.abspath(path)).parents:
        raise ValueError(f"output {path} is outside the run")
    if path.is_symlink() and path.is_dir():
        if any(path.iterdir()):
            raise UserError(
                f"{path}: is a link to a folder that contains something; empty the folder, or "
                "remove the link"
            )
    else:
        remove(path)


def last_line(log: Path) -> str:
    """The last line a command printed, such as ``[7/14] forward-de-1: done in 2:40``."""
    return (last_lines(log) or ["starting"])[-1][:70]


def last_lines(log: Path) -> list[str]:
    """The end of a log, to show."""
    with open(log, "rb") as file:
        file.seek(max(0, log.stat().st_size - 8192))
        text = file.read().decode("utf-8", "replace")
    return [line[:300] for line in text.replace("\r", "\n").splitlines() if line][-15:]


def appears(there: Callable[[], bool], seconds: float = _LATENCY) -> bool:
    """Whether ``there()`` is true, or becomes true while files of other machines come to sight."""
    deadline = time.monotonic() + seconds
    while not there():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
