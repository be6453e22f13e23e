"""What a data folder was made from, and whether a call may resume it."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import (
    exclusive,
    is_kept,
    is_unfinished,
    read_json,
    read_record,
    remove,
    remove_links,
    remove_unfinished,
    unlink_link,
    write_json,
)

WORK = ".work"
_LOCK = "lock"
_OURS = (
    "meta.json",
    "dict.txt",
    "dict.*.txt",
    "sentencepiece.model",
    "sentencepiece.*.model",
    "tokenizer.json",
    "tokenizer.*.json",
    "anchors.*.json",
    "aligner/*/*",
    "shards.json",
    "mono/*.bin",
    "mono/*.idx",
    "parallel/*.bin",
    "parallel/*.idx",
    "held-out/*/*",
)
_FOLDERS = ("mono", "parallel", "held-out/mono", "held-out/parallel")


def check_folder(out: Path) -> None:
    """Refuse a data folder that could not be made."""
    if out.exists() and not out.is_dir():
        raise UserError(f"{out}: is a file, not a folder")
    for pattern in (*_OURS, f"{WORK}/*"):
        for path in filter(is_kept, out.glob(pattern)):
            raise UserError(
                f"`OUT` must not have as its own a file that is read, got {path}; choose another "
                "folder, or name for the file"
            )


def is_finished(out: Path, settings: dict[str, Any], inputs: dict[str, Any]) -> bool:
    """Whether ``out`` already contains the result of these settings and files.

    Raises:
        UserError: if it contains anything else, finished or not (names the difference).
    """
    if (out / "meta.json").is_file():
        meta = read_json(out / "meta.json")
        _refuse_difference(out, "was prepared", meta, {"settings": settings, "inputs": inputs})
        return True
    started = out / WORK / "started.json"
    if started.is_file():
        state = {"settings": settings, "inputs": inputs}
        _refuse_difference(out, "was begun", read_json(started), state)
    return False


def start(out: Path, settings: dict[str, Any], inputs: dict[str, Any], facts: Any) -> None:
    """Record what is being made, so that a killed run can be resumed."""
    write_json(
        out / WORK / "started.json", {"settings": settings, "inputs": inputs, "facts": facts}
    )


def known_facts(out: Path) -> Any:
    """What the interrupted run found out about its input files; None if there was none."""
    return read_record(out / WORK / "started.json", {"facts": object}).get("facts")


def written(out: Path) -> list[str]:
    """Names in ``out`` of everything that `prepare` writes but ``meta.json``."""
    return [
        path.relative_to(out).as_posix()
        for pattern in _OURS[1:]
        for path in out.glob(pattern)
        if not is_unfinished(path.name)
    ]


def start_anew(out: Path) -> None:
    """Remove everything that `prepare` writes, but not the lock of the caller."""
    for name in ("mono", "parallel", "held-out"):
        unlink_link(out / name)  # of which it leads to nothing is removed
    # meta.json first: without it the rest is not mistaken for a finished folder.
    for pattern in _OURS:
        for path in out.glob(pattern):
            path.unlink()
    for path in (out / WORK).glob("*"):
        if path.name != _LOCK:
            remove(path)


def clear(out: Path) -> None:
    """Remove everything that `prepare` writes, and nothing else."""
    start_anew(out)
    shutil.rmtree(out / WORK, ignore_errors=True)
    named = map(out.joinpath, ("aligner", *_FOLDERS, "held-out"))
    for folder in (*out.glob("aligner/*"), *named, out):
        with contextlib.suppress(OSError):  # absent, or not empty
            folder.rmdir()


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep a second `prepare` out of the folder, and remove what a killed one left half-written.

    The lock ends with the process.
    """
    work = out / WORK
    remove_links(work)
    remove_links(out / "aligner")
    work.mkdir(parents=True, exist_ok=True)
    lock = work / _LOCK
    lock.touch()
    with exclusive(lock, f"{out}: another `prepare` is at work in this folder"):
        for folder in (out, work, *map(out.joinpath, _FOLDERS)):
            if folder.is_dir():
                remove_unfinished(folder)
        yield


@contextlib.contextmanager
def writing(
    out: Path, settings: dict[str, Any], inputs: dict[str, Any], facts: Any, overwrite: bool
) -> Iterator[None]:
    """`locked` and `start`; with ``overwrite`` without what was there. In the end, what is only
    needed to resume is removed.

    Raises:
        UserError: if a training is reading a folder that is to be replaced. (Its maps would keep
            the old files, but a resumed training would silently continue on other text.)
    """
    meta, unread = out / "meta.json", contextlib.nullcontext()
    if overwrite and meta.is_file():  # nor may one begin to read it
        taken = f"{out}: a training reads this folder; wait for its end, or choose another folder"
        unread = exclusive(meta, taken)
    with unread, locked(out):
        if overwrite:
            start_anew(out)
        start(out, settings, inputs, facts)
        yield
    shutil.rmtree(out / WORK, ignore_errors=True)


def _refuse_difference(out: Path, what: str, found: dict[str, Any], asked: dict[str, Any]) -> None:
    for part, values in asked.items():
        there = found.get(part, {}) if isinstance(found, dict) else None
        if not isinstance(there, dict):
            raise UserError(
                f"{out}: {what}, but its description is damaged; choose another folder, or add "
                "--overwrite to start anew"
            )
        for key in sorted({*values, *there}):
            if values.get(key) != there.get(key):
                if part == "settings":
                    was, now = (
                        value if isinstance(value, str) and len(value) < 40 else shown(value)
                        for value in (there.get(key), values.get(key))
                    )
                    name = f"`--{key.replace('_', '-')}` {was}, not {now}"
                else:
                    name = f"another input for {key}"
                raise UserError(
                    f"{out}: {what} with {name}; choose another folder, or add --overwrite to "
                    "start anew"
                )
