"""A process of a training that hangs ends the others, and they say which it was.

A process that has died ends the others at once, because its connections close. One that was
stopped, that swaps, or whose machine is gone keeps them waiting, up to half an hour. And fairseq's
own `--heartbeat-timeout` interrupts each process in Python, which does not listen while it waits
for the others inside torch.

Each process therefore says every second that it is there, and how many times it has waited for the
others so far, in the store in which they met. One that was not heard of for `SILENT` seconds has
stopped; one that has been behind another's count for `--heartbeat-timeout` seconds is stuck.
"""

import functools
import itertools
import os
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairseq_xling.core.errors import UserError, one_line
from fairseq_xling.engine.compat import own_store
from fairseq_xling.guards.rendezvous import limit_of

SILENT = 30  # seconds
_EVERY = 1.0  # seconds between beats

_met = itertools.count(1)
_meetings = 0  # how many times this process has waited for the others
_running: "_Heart | None" = None


def install() -> None:
    """Count how many times a process waits for the others."""
    from fairseq.distributed import utils

    for name in ("all_reduce", "all_gather", "broadcast"):
        setattr(utils, name, _counted(getattr(utils, name)))


def _counted(collective: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(collective)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        global _meetings
        _meetings = next(_met)
        return collective(*args, **kwargs)

    return wrapper


def begin(cfg: Any) -> Any:
    """Start the heartbeat of this process once it has met the others; returns ``cfg``."""
    global _running
    import torch.distributed as dist

    found = cfg.distributed_training
    behind = limit_of(found)
    found.heartbeat_timeout = -1  # fairseq's own would interrupt what this one explains
    store = own_store(SILENT)
    if store is not None and _running is None:
        _running = _Heart(store, dist.get_rank(), dist.get_world_size(), behind)
        _running.start()
    return cfg


def end() -> None:
    """Stop the heartbeat, if there is one: the others may end before this process."""
    global _running
    if _running is not None:
        _running.stop()
        _running = None


@dataclass
class Beat:
    """What a process last said of itself; nothing yet as it is made."""

    number: int = 0
    meetings: int = 0
    who: str = ""  # its process's number, and its machine

    def __str__(self) -> str:
        return f"{self.number} {self.meetings} {self.who}"

    @classmethod
    def parse(cls, text: str) -> "Beat":
        number, meetings, who = text.split(" ", 2)
        return cls(int(number), int(meetings), who)


@dataclass
class Watch:
    """Judges the beats of all processes.

    Time is counted in the watcher's own looks, one a second: where all processes were stopped and
    continue, nobody is taken for hanging.

    Attributes:
        own: this process's rank.
        silent: looks after which a process whose beat has not changed has stopped.
        behind: looks after which a process that others wait for is stuck.
    """

    own: int
    silent: int
    behind: int
    _last: dict[int, Beat] = field(default_factory=dict)
    _quiet: dict[int, int] = field(default_factory=dict)
    _late: dict[int, int] = field(default_factory=dict)

    def look(self, beats: Sequence[Beat]) -> str:
        """What hangs, by the beats of all ranks in order; empty if nothing does."""
        for rank, beat in enumerate(beats):
            before = self._last.get(rank)
            self._last[rank] = beat
            if rank == self.own or before is None:
                continue
            quiet = beat.number == before.number
            self._quiet[rank] = self._quiet.get(rank, 0) + 1 if quiet else 0
            late = beat.meetings == before.meetings and beat.meetings < beats[self.own].meetings
            self._late[rank] = self._late.get(rank, 0) + 1 if late else 0
            name = f"rank {rank} of {len(beats)}" + (f" ({beat.who})" if beat.who else "")
            if self._quiet[rank] >= self.silent:
                return f"{name} was not heard of for {self.silent} seconds"
            if self._late[rank] >= self.behind:
                return f"{name} has kept the others waiting for {self.behind} seconds"
        return ""


class _Heart:
    """Two threads: one that talks to the store, and one that notices if the store is silent."""

    def __init__(self, store: Any, rank: int, size: int, behind: int):
        self._store, self._rank = store, rank
        # A launcher's store outlives a restart of the processes.
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self._keys = [f"fairseq_xling/beat/{attempt}/{one}" for one in range(size)]
        self._watch = Watch(rank, min(SILENT, behind), behind)
        self._beats: list[Beat] | None = None
        self._stopped = threading.Event()

    def start(self) -> None:
        for work in (self._beat, self._judge):
            threading.Thread(target=work, name="heartbeat", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _beat(self) -> None:
        who = f"process {os.getpid()} of {socket.gethostname()}"
        try:
            for key in self._keys:
                self._store.compare_set(key, "", str(Beat()))
            for number in itertools.count(1):
                self._store.set(self._keys[self._rank], str(Beat(number, _meetings, who)))
                found = self._store.multi_get(self._keys)
                self._beats = [Beat.parse(text.decode()) for text in found]
                if self._stopped.wait(_EVERY):
                    return
        except RuntimeError:  # the store is gone, with the process or launcher that had it
            return

    def _judge(self) -> None:
        unanswered = 0
        while not self._stopped.wait(_EVERY):
            beats, self._beats = self._beats, None
            unanswered = 0 if beats else unanswered + 1
            if beats:
                hangs = self._watch.look(beats)
            elif unanswered >= self._watch.silent:
                host = "the launcher" if "TORCHELASTIC_RUN_ID" in os.environ else "rank 0"
                hangs = f"{host}, where the processes met, did not answer for {unanswered} seconds"
            else:
                continue
            if hangs:
                self._give_up(hangs)

    def _give_up(self, hangs: str) -> None:
        """End this process, whatever its main thread waits for."""
        error = UserError(
            f"{hangs}; rank {self._rank} ends. The training resumes from its last checkpoint when "
            "all are started again"
        )
        if not self._stopped.is_set():
            sys.stderr.write(f"{one_line(error)}\n")
            sys.stderr.flush()
            os._exit(1)
