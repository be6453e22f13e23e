"""Kills programs at moments drawn from how long they take, and compares what they leave in the end
with what an undisturbed one does."""

import contextlib
import fcntl
import fnmatch
import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import sha256
from fairseq_xling.reports.rows import from_json
from tests.end_to_end.engine import checked, command, differences, kill, load, start


@dataclass(frozen=True)
class Varies:
    """What may differ between two runs of one command.

    Attributes:
        files: pattern of their path in the folder of results.
        parts: pattern of the keys of JSON or of a checkpoint, or of the text; empty for all.
        reason: why.
    """

    files: str
    parts: str
    reason: str


# A key of which one word is among these says when something was, or how long it took. What is
# written is named so, and then needs no line of its own below.
TIMES = r"(?i)(^|[/_ -])(date|started|finished|time|ms|seconds|minutes|hours|days)([_ ][^/]*)?$"

# What else may differ. A digest of a file of the run is compared as that file's name: the file is
# compared itself.
VARYING = (
    Varies("*.json", TIMES, "when, how long"),
    Varies("*.pt", TIMES, "when, how long"),
    Varies("*/.steps/*.json", r"^/outputs/", "sizes of logs and reports, in which durations are"),
    Varies(
        "*.pt",
        r"^/optimizer_history/0/lr_scheduler_state/best$",
        "the best loss since the last start; of the schedules that these programs use, none reads "
        "it",
    ),
    Varies("*.pt", r"^/extra_state/metrics/", "averages that are printed, with speeds"),
    Varies("*/table.csv", r"(?m)^.*\b(ms|seconds|minutes|device.days)\b[^,]*,.*\n", "how long"),
    Varies("*/cost.csv", "", "durations of trainings, as in results.json, which is compared"),
    Varies("*/report.html", "", "a page of results.json, which is compared, with speeds"),
    Varies(
        "*generate-*.txt", r"(?m)^.* \| INFO \| .*\n|^[\d :-]+(?=\| WARNING)", "log: dates, speeds"
    ),
    Varies("*.log", "", "dates, speeds, and more lines each time it was started"),
)


def _varying(file: str) -> list[str]:
    return [one.parts for one in VARYING if fnmatch.fnmatch(file, one.files)]


def _compared(value: Any, patterns: Sequence[str], names: Mapping[str, str], path: str = "") -> Any:
    """A nested value without the keys whose path matches, and names for digests of files.

    Args:
        names: of files, by their SHA-256; the size beside a digest is left out.
    """
    if isinstance(value, dict):
        named = value.get("sha256") in names
        return {
            key: _compared(inner, patterns, names, f"{path}/{key}")
            for key, inner in value.items()
            if not any(re.search(pattern, f"{path}/{key}") for pattern in patterns)
            and not (named and key == "bytes")
        }
    if isinstance(value, list | tuple):
        return [_compared(inner, patterns, names, f"{path}/{i}") for i, inner in enumerate(value)]
    return names.get(value, value) if isinstance(value, str) else value


def frame_rows(found: dict[str, Any]) -> Any:
    """A frame as its rows, without the figures of those whose measure is one of `TIMES`."""
    if found.keys() != {"count", "columns"}:
        return found
    rows = from_json(found)
    timed = [re.search(TIMES, str(row.get("measure"))) for row in rows]
    return [{**row, "value": None} if of else row for row, of in zip(rows, timed, strict=True)]


def _checkpoint(path: Path) -> Any:
    """With the last start alone of the training's history, which has an entry for each."""
    state = load(path)
    if isinstance(state.get("optimizer_history"), list):
        state["optimizer_history"] = state["optimizer_history"][-1:]
    return state


def _read(path: Path) -> Callable[[Path], Any] | None:
    readers: dict[str, Callable[[Path], Any]] = {
        ".pt": _checkpoint,
        ".json": lambda file: json.loads(file.read_text(encoding="utf-8"), object_hook=frame_rows),
    }
    return readers.get(path.suffix)


def unlike(first: Path, second: Path) -> list[str]:
    """Where two folders differ beyond `VARYING`."""
    ours, theirs = (
        {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        for folder in (first, second)
    )
    found = [f"{name}: only in one" for name in sorted(ours ^ theirs)]
    both = sorted(ours & theirs)
    digests = [{sha256(folder / name): name for name in both} for folder in (first, second)]
    for name in both:
        one, other = first / name, second / name
        if one.read_bytes() == other.read_bytes():
            continue
        patterns = _varying(name)
        if "" in patterns:
            continue
        read = _read(one)
        if read is not None:
            values = [
                _compared(read(path), patterns, names)
                for path, names in zip((one, other), digests, strict=True)
            ]
            found += [f"{name}: {text}" for text in differences(*values)]
            continue
        texts = [path.read_bytes() for path in (one, other)]
        for pattern in patterns:
            texts = [re.sub(pattern.encode(), b"", text) for text in texts]
        if texts[0] != texts[1]:
            found.append(f"{name}: {_difference(*texts)}")
    return found


def _difference(ours: bytes, theirs: bytes) -> str:
    place = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    around = slice(max(0, place - 40), place + 40)
    return f"at byte {place}, {ours[around]!r} and {theirs[around]!r}"


def whole(words: Sequence[object], folder: Path) -> float:
    """Run to its end in the new ``folder``; the seconds that it took."""
    folder.mkdir()
    began = time.monotonic()
    checked(command(*map(str, words)), cwd=folder)
    return time.monotonic() - began


def wait_for_locks(folder: Path) -> None:
    """A program that the killed one had just asked for ends a moment after it."""
    deadline = time.monotonic() + 20
    for path in [p for p in folder.rglob("*") if p.is_dir()]:
        with contextlib.suppress(FileNotFoundError), open_folder(path) as handle:
            while time.monotonic() < deadline:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.05)


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """A descriptor of a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def disturbed(
    words: Sequence[object], folder: Path, rng: random.Random, seconds: float, kills: int
) -> tuple[int, float]:
    """Start in the new ``folder``, kill -9 at a random moment and start again, to its end.

    Args:
        seconds: that an undisturbed run takes.
        kills: at most; then it is left alone.

    Returns:
        How often it was killed, and ``seconds``, less where it ended before a kill: the machine is
        then less busy than it was, and later kills have to come sooner.
    """
    folder.mkdir()
    argv = command(*map(str, words))
    for done in range(kills):
        wait_for_locks(folder)
        with open(folder.parent / f"{folder.name}.said", "wb") as said:
            began = time.monotonic()
            process = start(argv, said, said, cwd=folder)
            try:
                status = process.wait(timeout=rng.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                kill(process)
                continue
        text = (folder.parent / f"{folder.name}.said").read_text(errors="replace")
        assert not status, text[-3000:]
        return done, seconds if done else min(seconds, time.monotonic() - began)
    wait_for_locks(folder)
    checked(argv, cwd=folder)
    return kills, seconds


def assert_kills_change_nothing(
    words: Sequence[object], root: Path, kills: int, seed: int, most: int = 4
) -> None:
    """``kills`` kills in all, some in one run and then a new run, all of which end as one that
    nothing disturbs.

    Args:
        most: kills in one run.
    """
    rng, done, rounds = random.Random(seed), 0, 0
    # All run in a folder of one name, which results name, and are moved away afterwards.
    here = root / "here"
    whole(words, here)  # the first of a program imports what later ones find imported
    here.rename(root / "warm")
    seconds = whole(words, here)
    here.rename(root / "whole")
    found = unlike(root / "warm", root / "whole")
    assert not found, "two undisturbed runs differ: " + "\n".join(found[:20])
    while done < kills:
        rounds += 1
        assert rounds <= 4 * kills, f"only {done} of {rounds} runs were still going when killed"
        some, seconds = disturbed(words, here, rng, seconds, min(most, kills - done))
        done += some
        found = unlike(root / "whole", here)
        assert not found, f"run {rounds}, seed {seed}: " + "\n".join(found[:20])
        shutil.rmtree(here)
