"""A study as a recipe: its options, its steps, what they measure, its page.

A recipe is registered as a study of `fairseq-xling ablate`. It has

- ``options``: a frozen dataclass;
- ``plan(run, options)``: calls ``run(...)`` for each step, and ``run.measured(...)`` for what the
  files of some of them are about;
- ``read(cell)``: what was measured there, row by row;
- ``sections(rows, options)``: the tables and figures of its page.

Everything else is done here: presets and YAML files, number format, launchers, dry runs, resuming,
the step of the table, the record with its provenance, and the page.
"""

import argparse
import copy
import dataclasses
import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.record import RESULTS, Record, Section, made
from fairseq_xling.reports.rows import Row
from fairseq_xling.workflow import call
from fairseq_xling.workflow.launcher import add_run_arguments, launch_of, run_steps
from fairseq_xling.workflow.options import add_options, load_config
from fairseq_xling.workflow.settled import settle_config
from fairseq_xling.workflow.step import Plan, Step, seconds_taken

# The files of a study with a table and one figure.
ONE_FIGURE = ("table.md", "table.csv", RESULTS, "plot.svg", "report.html")
THEN = object()  # between two commands of a step
_NOBODY = "@"


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one or several steps measured."""

    about: Mapping[str, Any]  # columns that all its rows share, such as row and seed
    files: Mapping[str, Path]  # that were written; a folder stands for the results in it
    options: Any = None  # of the run that measured it


def words(*given: Any) -> list[str]:
    """The words of a command.

    A text is several, as a shell splits it; a path or a number is one; a list is the words that it
    has, as they are. A dictionary is options: one whose value is None, False, empty or 0 is left
    out, True has none, a list repeats the option for each of its values.

    >>> words({"--limit": [0], "--k": 0})
    ['--limit', '0']
    >>> words("fairseq-xling eval", Path("a b.pt"), {"--k": 5, "--swap": False, "--of": ["x", "y"]})
    ['fairseq-xling', 'eval', 'a b.pt', '--k', '5', '--of', 'x', '--of', 'y']
    """
    found: list[str] = []
    for one in given:
        if isinstance(one, str):
            found += shlex.split(one)
        elif isinstance(one, Mapping):
            for name, value in one.items():
                if isinstance(value, list | tuple):
                    found += [word for each in value for word in (name, str(each))]
                elif value:
                    found += [name] if value is True else [name, str(value)]
        elif isinstance(one, list | tuple):
            found += map(str, one)
        else:
            found.append(str(one))
    return found


class Run:
    """The steps of a run, each once, and what they measure.

    ``run(kind, words..., to=PATH)`` adds a step and returns the path of its output. Inputs are
    those that its words name. A step that equals an earlier one of its kind is that one; where rows
    of a study have `labelled` runs, one that differs gets the label at the end of its name.
    """

    def __init__(self, folder: Path, options: Any):
        self.folder, self.options, self.label = folder, options, ""
        self.steps: dict[str, Step] = {}  # by name
        self.cells: list[Cell] = []  # what some of them measure
        self._known: dict[tuple[str, str], str] = {}

    def __call__(
        self, kind: str, *given: Any, to: str, also: Sequence[str] = (), **how: Any
    ) -> Path:
        """Add a step.

        Args:
            kind: its name, but for a label; or with "{label}", which stands for it in all texts.
            given: its command, as of `words`; THEN begins another. In a word, "{out}" stands for
                the output, "{out1}" and so on for those of ``also``, "{name}" for its name.
            to: the output, in the folder of the run, "{name}" as above; also: further ones.
            how: ``first_unlabelled``, whether the first step of its kind has no label; attributes
                of the `Step`.
        """
        plain = how.pop("first_unlabelled", False)

        def build(name: str, label: str) -> Step:
            marks: dict[str, Any] = {"{name}": name, "{label}": label}
            outputs = [self.folder / _filled(one, marks) for one in (to, *also)]
            marks["{out}"] = outputs[0]
            marks |= {f"{{out{n}}}": path for n, path in enumerate(outputs[1:], start=1)}
            own = f"{self.folder}/"  # which may itself look like a mark
            commands = [
                [own.join(_filled(p, marks) for p in word.split(own)) for word in words(*part)]
                for then, part in itertools.groupby(given, lambda one: one is THEN)
                if not then
            ]
            return Step(name, commands, outputs=outputs, **how)

        return self.add(build(self._name(kind, build, plain), self.label))

    def function(self, kind: str, function: Callable[..., None], *, to: str, **how: Any) -> Path:
        """Add a step that is a Python function of a module, as a command that can be repeated.

        Args:
            how: ``values``, its arguments by name (JSON values, or paths), with "{out}" as above;
                and what a step has.
        """
        values = how.pop("values")
        return self(kind, call.command(function, values), to=to, **how)

    def add(self, step: Step) -> Path:
        """The first output of ``step``, which is added unless one of its name is there."""
        return self.steps.setdefault(step.name, step).outputs[0]

    def log(self, output: Path) -> Path:
        """The log of the step that makes ``output``."""
        (step,) = (one for one in self.steps.values() if output in one.outputs)
        return step.log(self.folder)

    def measured(self, files: Mapping[str, Path], **about: Any) -> Cell:
        """Note what ``files`` are about."""
        self.cells.append(Cell(about, files, self.options))
        return self.cells[-1]

    def labelled(self, label: str) -> "Run":
        """This run for a row of a study: the same steps, and names that tell rows apart."""
        own = copy.copy(self)
        own.label = label
        return own

    def needed(self, paths: Iterable[Path]) -> list[Step]:
        """The steps that make ``paths``, and all that those build on, in their order."""
        wanted = Step(_NOBODY, call=lambda: None, inputs=list(paths))
        chosen = Plan([*self.steps.values(), wanted]).needed(_NOBODY)
        return [step for step in self.steps.values() if step.name in chosen]

    def _name(self, kind: str, build: Callable[[str, str], Step], plain: bool) -> str:
        step = build(_NOBODY, _NOBODY)
        about = [step.commands, dict(step.settings), step.inputs, step.outputs]
        key = kind, json.dumps(about, sort_keys=True, default=str)
        if key not in self._known:
            first = plain and not any(known == kind for known, _ in self._known)
            name = kind if first or not self.label else f"{kind}-{self.label}"
            if "{label}" in kind:
                name = kind.replace("{label}", self.label)
            if name in self._known.values():
                raise ValueError(f"two steps are called {name!r}")
            self._known[key] = name
        return self._known[key]


def _filled(word: str, marks: Mapping[str, Any]) -> str:
    """``word`` with what each mark stands for, which may itself look like one."""
    return re.sub("|".join(map(re.escape, marks)), lambda found: str(marks[found[0]]), word)


class Study:
    """The base of recipes; see the module.

    Attributes:
        paper: the folder of the paper's claims.
        title, source, lead: of the page; help: what the list of studies says.
        presets: values of the options by name, where they have a field ``preset``.
        files: that the table's step leaves; a column in braces stands for each of its values.
        last: name of that step.
        run_type: what `plan` is called with; one with steps of its own, such as trainings.
    """

    paper: ClassVar[str] = ""
    title: ClassVar[str]
    source: ClassVar[str]
    lead: ClassVar[str]
    help: ClassVar[str]
    options: ClassVar[type]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    files: ClassVar[tuple[str, ...]] = ("table.md", "table.csv", RESULTS, "report.html")
    last: ClassVar[str] = "table"
    run_type: ClassVar[type[Run]] = Run

    # ---- what a study says

    def check(self, options: Any) -> Any:
        """Reject settings that cannot work, before anything runs; the settings to run with."""
        return options

    def before(self, options: Any) -> str:
        """What is said before anything runs."""
        return ""

    def plan(self, run: Any, options: Any) -> None:
        """Add the steps, and what they measure, to ``run``."""
        raise NotImplementedError(type(self).__name__)

    def read(self, cell: Cell) -> Iterable[Row]:
        """What was measured: at least ``measure`` and ``value`` of each row."""
        raise NotImplementedError(type(self).__name__)

    def arrange(self, rows: list[Row]) -> list[Row]:
        """What was read, in the order in which it is recorded."""
        return rows

    def inputs(self, cells: Sequence[Cell]) -> Mapping[str, Path]:
        """The files that the record has digests of, by what they are."""
        roles: dict[Path, str] = {}
        for cell in cells:
            about = [str(value) for value in cell.about.values() if value is not None]
            for name, path in cell.files.items():
                roles.setdefault(path, " ".join([*about, name]))
        return {role: path / RESULTS if path.is_dir() else path for path, role in roles.items()}

    def sections(self, rows: Sequence[Row], options: Any) -> Iterator[Section]:
        """The page's tables and figures, declared over the rows, in their order.

        The first section with a table is printed at the end of a run.
        """
        raise NotImplementedError(type(self).__name__)

    # ---- what is the same for all

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_run_arguments(parser)
        add_options(parser, self.options)

    def run(self, args: argparse.Namespace) -> None:
        folder = Path(args.output)
        options: Any = self.check(load_config(self.options, args, self.presets))
        launch = launch_of(args)
        settled = None
        if hasattr(options, "precision"):
            options, settled = settle_config(folder, options)
        steps = self.steps(folder, options)
        run_steps(folder, steps, options.jobs, launch, settled, before=self.before(options))

    def planned(self, folder: Path, options: Any) -> Run:
        """The steps, all of whose files are in ``folder``, and what they measure."""
        run = self.run_type(folder, options)
        self.plan(run, options)
        return run

    def steps(self, folder: Path, options: Any) -> list[Step]:
        """What is measured, the steps that this needs, and the one that writes the page."""
        run = self.planned(folder, options)
        cells = run.cells
        if not cells:
            raise UserError("these settings leave nothing to measure")
        files = list(dict.fromkeys(path for cell in cells for path in cell.files.values()))
        steps = run.needed(files)
        names = dict.fromkeys(name.format(**cell.about) for name in self.files for cell in cells)
        about = [{**cell.about, "files": list(cell.files)} for cell in cells]
        table = Step(
            self.last,
            call=lambda: self.write(folder, options, cells, steps),
            settings={"options": dataclasses.asdict(options), "study": self.name, "cells": about},
            inputs=files,
            outputs=[folder / name for name in names],
        )
        return [*steps, table]

    def rows(self, cells: Sequence[Cell], steps: Sequence[Step] = ()) -> list[Row]:
        """All that was measured, and what `trainings` says of it."""
        of, every = {"paper": self.paper, "study": self.name}, []
        for cell, cost in zip(cells, trainings(cells, steps), strict=True):
            every += [{**of, **cell.about, **cost, **row} for row in self.read(cell)]
        return self.arrange([{k: v for k, v in row.items() if v is not None} for row in every])

    def write(self, run: Path, options: Any, cells: Sequence[Cell], steps: Sequence[Step]) -> None:
        """Write the record, and its page, into ``run``."""
        record = made(self.record(self.rows(cells, steps), options), self.inputs(cells))
        write_run(run, with_steps(record, run, steps))

    def record(self, rows: Sequence[Row], options: Any) -> Record:
        """The record of what was measured."""
        return Record(
            self.title,
            rows,
            tuple(self.sections(rows, options)),
            source=self.source,
            lead=[self.lead],
            config=dataclasses.asdict(options),
        )


def trainings(cells: Sequence[Cell], steps: Sequence[Step]) -> list[dict[str, Any]]:
    """What the files of each cell are built on: the ``updates`` of its trainings together, and the
    names of those, and of checkpoints from outside, that cells of other seeds, and else alike, are
    built on, too, as ``shared``."""
    plan, makers = Plan(steps), {path: step.name for step in steps for path in step.outputs}
    updates = {}
    for step in steps:
        for program, *given in step.commands:
            if program == "fairseq-train" and "--max-update" in given:
                updates[step.name] = int(given[given.index("--max-update") + 1])
    behind = []
    for cell in cells:
        made = [plan.needed(makers[path]) for path in cell.files.values() if path in makers]
        names = set().union(*made)
        outside = {path for name in names for path in plan.outside[name] if path.suffix == ".pt"}
        behind.append((updates.keys() & names) | {"/".join(one.parts[-2:]) for one in outside})
    rows = [tuple((k, v) for k, v in cell.about.items() if k != "seed") for cell in cells]
    users: dict[tuple[Any, str], set[Any]] = {}  # by row and name the seeds
    for cell, row, names in zip(cells, rows, behind, strict=True):
        for name in names:
            users.setdefault((row, name), set()).add(cell.about.get("seed"))
    return [
        {
            "updates": sum(updates.get(name, 0) for name in names) or None,
            "shared": ", ".join(sorted(one for one in names if len(users[row, one]) > 1)) or None,
        }
        for row, names in zip(rows, behind, strict=True)
    ]


def with_steps(record: Record, run: Path, steps: Sequence[Step]) -> Record:
    """``record`` with the commands of the steps of a run, and the seconds that these took."""
    commands = [shlex.join(map(str, command)) for step in steps for command in step.commands]
    return dataclasses.replace(record, commands=commands, seconds=seconds_taken(run, steps))
