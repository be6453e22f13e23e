"""Locks on files that are held for as long as an object lives, and never longer than its process.

They are the operating system's: a killed process holds none, and a lock file that is left behind
means nothing. Children that are forked, such as a loader's workers, do not hold them either, or a
training that was killed could not be resumed before they have noticed it.
"""

import contextlib
import fcntl
import logging
import os
import weakref
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import unlink_link

logger = logging.getLogger(__name__)


@dataclass
class _Held:
    handle: int
    made: str = ""  # a lock file to remove, by its absolute path
    owners: int = 0


_held: dict[tuple[int, int], _Held] = {}  # by device and inode


def hold(path: str | Path, taken: str, owner: object, shared: bool = False) -> None:
    """Hold a lock on the file ``path`` as long as ``owner`` lives.

    Any number of processes may hold a ``shared`` lock, and no other one meanwhile; objects of one
    process share theirs. If the lock is not shared, the file is made for it and removed after it.
    On a file system without locks only a warning is logged.
    """
    if not shared:
        unlink_link(path)
    handle = os.open(path, os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT, 0o644)
    found = os.fstat(handle)
    key = found.st_dev, found.st_ino
    if key in _held:
        os.close(handle)
    else:
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise UserError(taken) from None
        except OSError as error:
            os.close(handle)
            logger.warning("%s: cannot be locked (%s); nothing else may write there", path, error)
            return
        if not (os.path.exists(path) and os.path.samestat(found, os.stat(path))):
            # Removed by its former holder in between, it guards nothing any more.
            os.close(handle)
            if shared:
                raise UserError(taken)
            return hold(path, taken, owner)
        _held[key] = _Held(handle, "" if shared else os.path.abspath(path))
    _held[key].owners += 1
    weakref.finalize(owner, _release, key, os.getpid())


def _release(key: tuple[int, int], process: int) -> None:
    if process != os.getpid() or key not in _held:  # of a parent
        return
    _held[key].owners -= 1
    if not _held[key].owners:
        held = _held.pop(key)
        if held.made:
            with contextlib.suppress(OSError):
                os.unlink(held.made)
        os.close(held.handle)


def _forget() -> None:
    """A forked child closes its copies, which leaves the parent's locks as they are."""
    for held in _held.values():
        os.close(held.handle)
    _held.clear()


os.register_at_fork(after_in_child=_forget)
