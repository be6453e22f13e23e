"""A study in one class: its options, its plan, what it measures, its page.

A subclass is registered as a study of `fairseq-xling ablate`. It has

- ``config``: a frozen dataclass of its options;
- ``plan(run, config)``: the steps, and the `Cell`s that they leave;
- ``read(cell)``: what was measured there, row by row;
- ``sections(rows, config)``: the tables and figures of its page.

Everything else is done here: presets and YAML files, number format, launchers, dry runs, resuming,
the step of the table, the record with its provenance, and the page.
"""

import argparse
import dataclasses
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.record import RESULTS, Record, Section, made
from fairseq_xling.reports.rows import Row
from fairseq_xling.runs.launcher import add_run_arguments, run_steps
from fairseq_xling.runs.options import add_options, load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step, seconds_taken

# The files of a study with a table and one figure.
ONE_FIGURE = ("table.md", "table.csv", RESULTS, "plot.svg", "report.html")


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one or several steps measured.

    Attributes:
        about: columns of the frame that all its rows share, such as ``row`` and ``seed``.
        files: that were written, by what they are; they become inputs of the table. A folder stands
            for the results in it.
    """

    about: Mapping[str, Any]
    files: Mapping[str, Path]


class Plan:
    """The steps of a run, each of its name once, and the cells that they leave."""

    def __init__(self, run: Path, config: Any):
        self.run, self.config = run, config
        self.steps: dict[str, Step] = {}
        self.cells: list[Cell] = []

    def add(self, step: Step) -> Path:
        """The first output of ``step``, which is added unless one of its name is there."""
        return self.steps.setdefault(step.name, step).outputs[0]

    def done(self) -> tuple[list[Step], list[Cell]]:
        """What `Study.plan` returns."""
        return list(self.steps.values()), self.cells


class Study:
    """The base of studies; see the module.

    Attributes:
        paper: the folder of the paper's claims.
        title, source, lead: of the page; help: what the list of studies says.
        presets: values of the options by name, where ``config`` has a field ``preset``.
        files: that the table's step leaves; a column in braces stands for each of its values.
    """

    paper: ClassVar[str] = ""
    title: ClassVar[str]
    source: ClassVar[str]
    lead: ClassVar[str]
    help: ClassVar[str]
    config: ClassVar[type]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    files: ClassVar[tuple[str, ...]] = ("table.md", "table.csv", RESULTS, "report.html")

    # ---- what a study says

    def check(self, config: Any) -> Any:
        """Reject settings that cannot work, before anything runs; the settings to run with."""
        return config

    def before(self, config: Any) -> str:
        """What is said before anything runs."""
        return ""

    def plan(self, run: Path, config: Any) -> tuple[list[Step], list[Cell]]:
        """The steps, all of whose files are in ``run``, and what they measure."""
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

    def sections(self, rows: Sequence[Row], config: Any) -> Iterator[Section]:
        """The page's tables and figures, declared over the rows, in their order.

        The first section with a table is printed at the end of a run.
        """
        raise NotImplementedError(type(self).__name__)

    # ---- what is the same for all

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_run_arguments(parser)
        add_options(parser, self.config)

    def run(self, args: argparse.Namespace) -> None:
        run = Path(args.output)
        config: Any = self.check(load_config(self.config, args, self.presets))
        settled = None
        if hasattr(config, "precision"):
            config, settled = settle_config(run, config)
        steps = self.steps(run, config)
        run_steps(run, steps, config.jobs, args, settled, before=self.before(config))

    def steps(self, run: Path, config: Any) -> list[Step]:
        """The plan, and the step that reads it all and writes the page."""
        steps, cells = self.plan(run, config)
        if not cells:
            raise UserError("these settings leave nothing to measure")
        names = dict.fromkeys(name.format(**cell.about) for name in self.files for cell in cells)
        table = Step(
            "table",
            call=lambda: self.write(run, config, cells, steps),
            settings={"config": dataclasses.asdict(config), "kind": self.name},
            inputs=list(dict.fromkeys(path for cell in cells for path in cell.files.values())),
            outputs=[run / name for name in names],
        )
        return [*steps, table]

    def rows(self, cells: Iterable[Cell]) -> list[Row]:
        """All that was measured."""
        of = {"paper": self.paper, "study": self.name}
        every = [{**of, **cell.about, **row} for cell in cells for row in self.read(cell)]
        return self.arrange([{k: v for k, v in row.items() if v is not None} for row in every])

    def write(self, run: Path, config: Any, cells: Sequence[Cell], steps: Sequence[Step]) -> None:
        """Write the record, and its page, into ``run``."""
        record = made(self.record(self.rows(cells), config), self.inputs(cells))
        write_run(run, with_steps(record, run, steps))

    def record(self, rows: Sequence[Row], config: Any) -> Record:
        """The record of what was measured."""
        return Record(
            self.title,
            rows,
            tuple(self.sections(rows, config)),
            source=self.source,
            lead=[self.lead],
            config=dataclasses.asdict(config),
        )


def with_steps(record: Record, run: Path, steps: Sequence[Step]) -> Record:
    """``record`` with the commands of the steps of a run, and the seconds that these took."""
    commands = [shlex.join(map(str, command)) for step in steps for command in step.commands]
    return dataclasses.replace(record, commands=commands, seconds=seconds_taken(run, steps))
