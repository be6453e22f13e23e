"""How much longer a run takes, from what its steps are expected to take and what they took."""

import time
from collections.abc import Callable, Sequence

from fairseq_xling.runs.step import Step, predecessors


class TimeLeft:
    """Estimates the rest of a run. Safe to use from threads that each begin and end one step.

    Steps say by `Step.effort` what they take on some machine. How fast this machine is follows from
    the steps that have ended and from those that already run for longer than expected.

    Args:
        steps: the steps that remain, in an order in which they could run one by one.
        jobs: how many run at the same time.
        now: a clock in seconds.
    """

    def __init__(self, steps: Sequence[Step], jobs: int, now: Callable[[], float] = time.monotonic):
        self._jobs, self._now = jobs, now
        self._left = {step.name: step.effort for step in steps}
        self._before = {
            name: [step.name for step in found] for name, found in predecessors(steps).items()
        }
        self._began: dict[str, float] = {}
        self._expected = self._took = 0.0

    def begin(self, name: str) -> None:
        """Step ``name`` starts."""
        self._began[name] = self._now()

    def end(self, name: str) -> None:
        """Step ``name`` is done."""
        self._expected += self._left.pop(name, 0.0)
        self._took += self._now() - self._began.pop(name, self._now())

    def seconds(self) -> float | None:
        """Seconds until all steps are done, or None where no step says what it takes."""
        if not any(self._left.values()):
            return None
        ran = {name: self._now() - began for name, began in list(self._began.items())}
        left = dict(self._left)
        late = [name for name in ran if ran[name] > left.get(name, 0.0) > 0]
        expected = self._expected + sum(left[name] for name in late)
        took = self._took + sum(ran[name] for name in late)
        # 20 seconds at the expected pace weigh in, so that a first short step decides little.
        pace = (took + 20) / (expected + 20)
        for name in ran.keys() & left.keys():
            left[name] = max(left[name] * pace - ran[name], 0.05 * left[name] * pace) / pace
        chain: dict[str, float] = {}
        for name in left:  # a step waits for those before it, however many run at the same time
            before = [chain[other] for other in self._before[name] if other in chain]
            chain[name] = left[name] + max(before, default=0.0)
        return pace * max(sum(left.values()) / self._jobs, *chain.values())
