"""Folders that are made once in a session of tests, and then read by all workers."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def once(folder: Path, make: Callable[[Path], object]) -> Path:
    """``folder``, filled by ``make`` if nobody has filled it; whoever comes second waits."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = folder.with_name(f"{folder.name}.done")
    with open(folder.with_name(f"{folder.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def linked(folder: Path, here: Path) -> Path:
    """The folder ``here`` with links to all that a shared ``folder`` has: others may be written."""
    for entry in folder.iterdir():
        (here / entry.name).symlink_to(entry)
    return here
