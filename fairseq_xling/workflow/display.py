"""Progress of a run: one rewritten line on a terminal, a line now and then in a log."""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from fairseq_xling.core.progress import clock
from fairseq_xling.workflow.step import Step

_AT_FIRST = 2.0  # seconds at the expected pace that weigh in, so that a short step decides little


def roughly(seconds: float) -> str:
    """A duration that is only an estimate.

    >>> [roughly(seconds) for seconds in (14, 95, 200, 700, 9000)]
    ['less than half a minute', 'about 1.5 min', 'about 3 min', 'about 12 min', 'about 2.5 h']
    """
    if seconds < 30:
        return "less than half a minute"
    if seconds >= 3570:
        return f"about {round(seconds / 1800) / 2:g} h"
    halves = round(seconds / 30) / 2
    return f"about {halves:g} min" if halves < 3 else f"about {round(seconds / 60)} min"


class TimeLeft:
    """Estimates the rest of a run. Safe to use from threads that each begin and end one step.

    Steps say by `Step.effort` what they take on some machine. How fast this machine is follows from
    the steps that have ended and from those that already run for longer than expected.

    Args:
        steps: those that remain, in an order in which they could run one by one.
        before: by name of a step, those whose outputs it reads.
        now: a clock in seconds.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        jobs: int,
        before: Mapping[str, Sequence[Step]],
        now: Callable[[], float] = time.monotonic,
    ):
        self._jobs, self._now = jobs, now
        self._left = {step.name: step.effort for step in steps}
        self._before = {name: [step.name for step in found] for name, found in before.items()}
        self._began: dict[str, float] = {}
        self._expected = self._took = 0.0
        self._lock = threading.Lock()

    def begin(self, name: str) -> None:
        """Step ``name`` starts."""
        with self._lock:
            self._began[name] = self._now()

    def end(self, name: str) -> None:
        """Step ``name`` is done."""
        with self._lock:
            self._expected += self._left.pop(name, 0.0)
            self._took += self._now() - self._began.pop(name, self._now())

    def seconds(self) -> float | None:
        """The seconds until all steps are done; None where no step says what it takes, and before
        there is a pace."""
        with self._lock:
            ran = {name: self._now() - began for name, began in self._began.items()}
            efforts, expected, took = dict(self._left), self._expected, self._took
        late = [name for name in ran if ran[name] > efforts.get(name, 0.0) > 0]
        expected += sum(efforts[name] for name in late)
        if not (expected and any(efforts.values())):
            return None
        took += sum(ran[name] for name in late)
        pace = (took + _AT_FIRST) / (expected + _AT_FIRST)
        left = {name: pace * effort for name, effort in efforts.items()}
        for name in ran.keys() & left.keys():  # one that takes too long is never at its end
            left[name] = max(left[name] - ran[name], 0.05 * left[name])
        chain: dict[str, float] = {}
        for name in left:  # a step waits for those before it, however many run at the same time
            before = [chain[other] for other in self._before[name] if other in chain]
            chain[name] = left[name] + max(before, default=0.0)
        return max([sum(left.values()) / self._jobs, *chain.values()])


class Display:
    """Says which steps run, for how long, and how far they are. Safe to use from threads.

    Args:
        stream: where to write; the standard output by default.
        every: seconds between two reports of a step where ``stream`` is no terminal.
    """

    def __init__(self, stream: IO[str] | None = None, every: float = 15.0):
        self._stream = stream or sys.stdout
        self._live = self._stream.isatty()
        self._every = 1.0 if self._live else every
        self._lock = threading.RLock()
        self._labels: dict[str, str] = {}
        self._going: dict[str, tuple[float, Callable[[], str]]] = {}
        self._last, self._width = time.monotonic(), 0

    def number(self, name: str, label: str) -> None:
        """Set how step ``name`` is called on screen."""
        self._labels[name] = label

    def line(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            if self._width:
                self._stream.write(f"\r{' ' * self._width}\r")
            self._width = 0
            self._stream.write(text + "\n")
            self._stream.flush()

    def begin(self, name: str, progress: Callable[[], str]) -> None:
        """Step ``name`` starts; ``progress()`` tells in a few words how far it is."""
        with self._lock:
            self._going[name] = (time.monotonic(), progress)
            if not self._live:
                self.line(f"{self._labels.get(name, name)} ...")

    def end(self, name: str, text: str) -> None:
        """Step ``name`` has ended as ``text`` says."""
        with self._lock:
            self._going.pop(name, None)
            self.line(f"{self._labels.get(name, name)}: {text}")

    def tick(self, left: Callable[[], float | None] = lambda: None) -> None:
        """Called often; reports the running steps when it is due, and how long the run will take if
        ``left`` knows."""
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        with self._lock:
            parts = [self._describe(name, now) for name in self._going]
            if parts and (seconds := left()) is not None:
                parts[-1] += f" | {roughly(seconds)} left"
            if self._live and parts:
                text = " | ".join(reversed(parts))[:150]
                self._stream.write("\r" + text.ljust(self._width))
                self._width = len(text)
            for part in [] if self._live else parts:
                self._stream.write(part + "\n")
            self._stream.flush()

    def _describe(self, name: str, now: float) -> str:
        start, progress = self._going[name]
        try:
            words = progress()
        except (OSError, ValueError):  # the log is being written; the next tick reads it again
            words = ""
        return f"{self._labels.get(name, name)}: {clock(now - start)}{words and ', ' + words}"

    def close(self) -> None:
        """End the rewritten line."""
        if self._width:
            self.line("")
