"""Progress of a run: one rewritten line on a terminal, a line now and then in a log."""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from fairseq_xling.core.progress import clock
from fairseq_xling.workflow.step import Step


def roughly(fewest: float, most: float) -> str:
    """A duration that is only an estimate, between ``fewest`` and ``most`` seconds.

    >>> roughly(14, 20), roughly(20, 95), roughly(190, 200), roughly(200, 700), roughly(200, 9000)
    ('less than half a minute', 'up to 1.5 min', 'about 3 min', '3 to 12 min', '3 min to 2.5 h')
    """
    ends = [_rounded(fewest), _rounded(most)]
    if most < 30:
        return "less than half a minute"
    if fewest < 30:
        return f"up to {ends[1]}"
    if ends[0] == ends[1]:
        return f"about {ends[0]}"
    (_, unit), (_, last) = (end.split() for end in ends)
    return f"{ends[0].removesuffix(f' {unit}') if unit == last else ends[0]} to {ends[1]}"


def _rounded(seconds: float) -> str:
    if seconds < 3570:
        halves = round(seconds / 30) / 2
        return f"{halves:g} min" if halves < 3 else f"{round(seconds / 60)} min"
    return f"{round(seconds / 1800) / 2:g} h"


class Display:
    """Says which steps run, for how long, and how far they are. Safe to use from threads.

    Args:
        stream: where to write; the standard output by default.
        every: seconds between two reports of a step where ``stream`` is no terminal.

    Attributes:
        rows: whether each running step has a line of its own on a terminal, too.
    """

    def __init__(self, stream: IO[str] | None = None, every: float = 15.0):
        self._stream = stream or sys.stdout
        self._live = self._stream.isatty()
        self._every = 1.0 if self._live else every
        self._lock = threading.RLock()
        self._labels: dict[str, str] = {}
        self._going: dict[str, tuple[float, Callable[[], str]]] = {}
        self._last = time.monotonic()
        self._width = 0
        self._above = 0  # lines above it that are rewritten, too
        self.rows = False

    def number(self, name: str, label: str) -> None:
        """Set how step ``name`` is called on screen."""
        self._labels[name] = label

    def line(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._wipe()
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

    def tick(self, left: Callable[[], tuple[float, float] | None] = lambda: None) -> None:
        """Called often; reports the running steps when it is due.

        Args:
            left: gives the fewest and the most seconds until the end of the run, if they are known.
        """
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        with self._lock:
            parts = [self._describe(name, now) for name in self._going]
            seconds = left() if parts else None
            if seconds is not None:
                parts[-1] += f" | {roughly(*seconds)} left"
            if self._live and parts:
                *above, last = parts if self.rows else [" | ".join(reversed(parts))]
                if self._above or above:
                    self._wipe()
                    self._stream.writelines(f"{line[:150]}\n" for line in above)
                self._stream.write("\r" + last[:150].ljust(self._width))
                self._width, self._above = len(last[:150]), len(above)
            for part in [] if self._live else parts:
                self._stream.write(part + "\n")
            self._stream.flush()

    def _wipe(self) -> None:
        """Remove what is rewritten."""
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r" + "\x1b[A\x1b[2K" * self._above)
        self._width = self._above = 0

    def _describe(self, name: str, now: float) -> str:
        start, progress = self._going[name]
        try:
            words = progress()
        except (OSError, ValueError):  # the log is being written; the next tick reads it again
            words = ""
        return f"{self._labels.get(name, name)}: {clock(now - start)}{words and ', ' + words}"

    def close(self) -> None:
        """End the rewritten line."""
        with self._lock:
            if self._width:
                self.line("")


_UNSURE = 4  # times the fewest seconds


class TimeLeft:
    """Estimates the rest of a run. Safe to use from threads that each begin and end one step.

    Steps say by `Step.effort` what they take on some machine. How fast this machine is follows from
    the steps that have ended and from those that already run for longer than expected.

    Args:
        steps: the steps that remain, in an order in which they could run one by one.
        jobs: how many run at the same time.
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
        self._last = (0.0, 0.0)

    def begin(self, name: str) -> None:
        """Step ``name`` starts."""
        self._began[name] = self._now()

    def end(self, name: str) -> None:
        """Step ``name`` is done."""
        expected = self._left.pop(name, 0.0)
        took = self._now() - self._began.pop(name, self._now())
        self._expected, self._took = self._expected + expected, self._took + took
        if expected:
            self._last = (expected, took)

    def seconds(self) -> tuple[float, float] | None:
        """The fewest and the most seconds until all steps are done.

        None where no step says what it takes, before there is a pace, and where the paces so far
        differ too much to say anything, as on a machine with changing load.
        """
        if not any(self._left.values()):
            return None
        ran = {name: self._now() - began for name, began in list(self._began.items())}
        late = [name for name in ran if ran[name] > self._left.get(name, 0.0) > 0]
        expected = self._expected + sum(self._left[name] for name in late)
        took = self._took + sum(ran[name] for name in late)
        if not expected:
            return None
        recent = (self._left[late[-1]], ran[late[-1]]) if late else self._last
        # A few seconds at the expected pace weigh in, so that a first short step decides little.
        paces = [(took + 20) / (expected + 20), (took + 2) / (expected + 2)]
        paces.append((recent[1] + 5) / (recent[0] + 5))
        fewest, *_, most = sorted(self._rest(pace, ran) for pace in paces)
        return None if most > _UNSURE * fewest else (fewest, most)

    def _rest(self, pace: float, ran: Mapping[str, float]) -> float:
        """Seconds until the end if every second of a step takes ``pace``; ``ran`` are those that
        the steps that run have run for."""
        left = dict(self._left)
        for name in ran.keys() & left.keys():
            left[name] = max(left[name] * pace - ran[name], 0.05 * left[name] * pace) / pace
        chain: dict[str, float] = {}
        for name in left:  # a step waits for those before it, however many run at the same time
            before = [chain[other] for other in self._before[name] if other in chain]
            chain[name] = left[name] + max(before, default=0.0)
        return pace * max(sum(left.values()) / self._jobs, *chain.values())
