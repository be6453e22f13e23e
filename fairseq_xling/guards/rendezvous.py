"""How the processes of a training meet: for a limited time, and with a line if they do not."""

import contextlib
import datetime
import functools
import logging
import os
import re
import threading
import time
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from fairseq_xling.core.errors import UserError

logger = logging.getLogger(__name__)

LIMIT = 600  # seconds without `--heartbeat-timeout`: torch's of GPUs; of CPUs it is three times it
_NOTICE = 20.0  # seconds until a process says that it waits
_MARGIN = 10  # seconds that the heartbeat, which can say who is missing, has before torch


def limit_of(distributed_training: Any) -> int:
    """Seconds that a process waits for the others: `--heartbeat-timeout`, or `LIMIT`."""
    given = distributed_training.heartbeat_timeout
    return given if given > 0 else LIMIT


def install() -> None:
    """Wrap what joins the processes, and give what they do together a limit."""
    from fairseq.distributed import utils

    utils.dist = _LimitedDist(utils.dist)
    utils.distributed_init = _in_one_line(utils.distributed_init, utils.dist)


class _LimitedDist(types.ModuleType):
    """torch.distributed for fairseq's module that joins processes, whose groups have a limit."""

    def __init__(self, dist: Any):
        super().__init__(dist.__name__)
        self._dist = dist
        self.seconds = LIMIT

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dist, name)

    @property
    def _limit(self) -> datetime.timedelta:
        return datetime.timedelta(seconds=self.seconds + _MARGIN)

    def new_group(self, *args: Any, **kwargs: Any) -> Any:
        return self._dist.new_group(*args, **{"timeout": self._limit, **kwargs})

    def init_process_group(
        self, backend: str, init_method: str, world_size: int, rank: int
    ) -> None:
        """As torch's; the processes of a restart meet apart from what is left of those before."""
        where: dict[str, Any] = {"init_method": init_method}
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
            found = self._dist.rendezvous(init_method, rank, world_size, timeout=self._limit)
            store, rank, world_size = next(found)
            prefix = agree(store, rank, world_size, self.seconds)
            where = {"store": self._dist.PrefixStore(prefix, store)}
        self._dist.init_process_group(
            backend, world_size=world_size, rank=rank, timeout=self._limit, **where
        )


def agree(store: Any, rank: int, size: int, seconds: float) -> str:
    """A name that all processes of one start have, and none of an earlier start.

    torchrun keeps its store when it restarts the processes, and in it the addresses of those that
    have ended, which torch would connect to. How many restarts there were, each machine counts for
    itself. So the first process chooses a name and hands it to each other that asks, until all have
    it; what an ended process asked is answered, too, and harms nobody.

    Args:
        store: torch's store that all processes use.
        seconds: until a process that never asks, or is never answered, raises RuntimeError.
    """
    own = uuid.uuid4().hex
    deadline = time.monotonic() + seconds
    if rank > 0:
        store.set(f"fairseq_xling/ask/{rank}", own)
        answer = f"fairseq_xling/answer/{own}"
        store.wait([answer], datetime.timedelta(seconds=seconds))
        name = store.get(answer).decode()
        store.set(f"fairseq_xling/has/{name}/{rank}", "")
        return name
    waiting = set(range(1, size))
    while waiting:
        for one in sorted(waiting):
            if store.check([f"fairseq_xling/ask/{one}"]):
                asked = store.get(f"fairseq_xling/ask/{one}").decode()
                store.set(f"fairseq_xling/answer/{asked}", own)
            if store.check([f"fairseq_xling/has/{own}/{one}"]):
                waiting.remove(one)
        if waiting and time.monotonic() > deadline:
            raise RuntimeError(f"timed out waiting for {len(waiting)} processes")
        time.sleep(0.02)
    return own


def _in_one_line(init: Callable[..., Any], dist: _LimitedDist) -> Callable[..., Any]:
    @functools.wraps(init)
    def wrapper(cfg: Any) -> Any:
        found = cfg.distributed_training
        dist.seconds = limit_of(found)
        place, size = _place(found.distributed_init_method), found.distributed_world_size
        with _notice("waiting for the other %d of %d processes at %s", size - 1, size, place):
            try:
                return init(cfg)
            except (RuntimeError, ValueError, OSError) as error:
                raise UserError(
                    f"process {found.distributed_rank + 1} of {size} did not meet the others at "
                    f"{place} ({_reason(error)}); start each of the {size} once, with the same "
                    "address and a rank of its own, or all of them with torchrun"
                ) from error

    return wrapper


def _place(method: str) -> str:
    if method.startswith("env://"):
        return f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
    return method


def _reason(error: Exception) -> str:
    text = str(error)
    if "EADDRINUSE" in text:
        return "another program, or another process of rank 0, listens there"
    if re.search("time.?out|timed out", text, re.IGNORECASE):
        return "they did not come in time"
    return text.partition("\n")[0].partition(". This may")[0][:200]


@contextlib.contextmanager
def _notice(*message: Any) -> Iterator[None]:
    """Log ``message`` if what is done inside takes long."""
    timer = threading.Timer(_NOTICE, logger.warning, message)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def lost(error: RuntimeError) -> UserError | None:
    """What to say about ``error`` if it is torch's that another process of a training is gone."""
    text = str(error)
    if not re.search(r"gloo.*(Connection|Timed out|Broken pipe)", text, re.DOTALL):
        return None
    reason = re.sub(r"^\[[^]]*\]\s*", "", text).partition(". ")[0][:200]
    return UserError(
        f"another process of this training has ended or does not answer ({reason}); its own output "
        "says why. The training resumes from its last checkpoint when all are started again"
    )
