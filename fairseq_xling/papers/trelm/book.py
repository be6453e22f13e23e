"""The steps of several migrations, in which equal work is one step.

Two rows of a study that differ late share the early steps: a data folder, vectors, a first phase. A
step equals an earlier one of its kind if it has the same commands, settings and inputs.
"""

import json
from collections.abc import Callable
from pathlib import Path

from fairseq_xling.runs.step import Step

_NOBODY = "@"


class Book:
    """Collects steps in an order in which they could run.

    Args:
        run: the folder of the run.
    """

    def __init__(self, run: Path):
        self.run = run
        self.steps: dict[str, Step] = {}
        self._known: dict[tuple[str, str], str] = {}

    def add(self, kind: str, label: str, build: Callable[[str], Step], plain: bool = False) -> str:
        """Add a step, unless an equal one exists; returns its name.

        Args:
            kind: what it does, such as ``forward-de-1``; its name if ``label`` is empty.
            label: the row that needs it; becomes the end of the name.
            build: makes the step of a given name. All outputs must contain that name, and nothing
                else may depend on it.
            plain: whether the first step of its kind has no label in its name.
        """
        signature = _signature(build(_NOBODY))
        if (kind, signature) not in self._known:
            first = plain and not any(known == kind for known, _ in self._known)
            name = kind if first or not label else f"{kind}-{label}"
            self.steps[name] = build(name)
            self._known[kind, signature] = name
        return self._known[kind, signature]

    def __getitem__(self, name: str) -> Step:
        return self.steps[name]

    def needed(self, paths: list[Path]) -> list[Step]:
        """The steps that make ``paths``, and all steps that those depend on, in their order."""
        wanted = Step("wanted", call=lambda: None, inputs=paths)
        chosen: list[Step] = []
        for step in reversed(self.steps.values()):
            if any(reader.reads(step) for reader in [wanted, *chosen]):
                chosen.append(step)
        return chosen[::-1]


def _signature(step: Step) -> str:
    facts = [
        [list(map(str, command)) for command in step.commands],
        dict(step.settings),
        [str(path) for path in step.inputs],
    ]
    return json.dumps(facts, sort_keys=True, default=str)
