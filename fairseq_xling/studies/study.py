"""A study in one class: its options, its plan, what it measures, its page.

A subclass is registered twice, as a study of `fairseq-xling ablate` and as a kind of result. It has

- ``config``: a frozen dataclass of its options;
- ``plan(run, config)``: the steps, and the `Cell`s that they leave;
- ``read(cell)``: what was measured there, row by row of the frame;
- ``sections(frame, record)``: the tables and figures of its page.

Everything else is done here: presets and YAML files, number format, launchers, dry runs, resuming,
the step of the table, the record with its frame and provenance, and the page.
"""

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.results.page import RESULTS, Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import Kind, write_results
from fairseq_xling.runs.launcher import add_run_arguments, run_steps
from fairseq_xling.runs.options import add_options, load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step

if TYPE_CHECKING:
    import pandas

Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
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


def tabled(title: str, table: Table, *notes: str) -> Section:
    """A section with a table."""
    return Section(title, header=table[0], rows=table[1], notes=notes)


class Study(Kind):
    """The base of studies; see the module.

    Attributes:
        paper: the folder of the paper's claims.
        title, source, lead: of the page; help: what the list of studies says.
        presets: values of the options by name, where ``config`` has a field ``preset``.
        spec_rows: rows of the specification that it implements.
        drawn: how figures show several seeds, as in `seeds_in_words`.
        files: that the table's step leaves; a column in braces stands for each of its values.
    """

    paper: ClassVar[str] = ""
    title: ClassVar[str]
    source: ClassVar[str]
    lead: ClassVar[str]
    help: ClassVar[str]
    config: ClassVar[type]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    spec_rows: ClassVar[tuple[str, ...]] = ()
    drawn: ClassVar[str] = "bands"
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

    def read(self, cell: Cell) -> Iterable[Mapping[str, Any]]:
        """What was measured: at least ``measure`` and ``value`` of each row."""
        raise NotImplementedError(type(self).__name__)

    def arrange(self, frame: "pandas.DataFrame") -> "pandas.DataFrame":
        """What was read, in the order in which it is recorded."""
        return frame

    def recorded(
        self, config: Any, cells: Sequence[Cell], frame: "pandas.DataFrame"
    ) -> Mapping[str, Any]:
        """What the record has as well as the frame and the settings."""
        return {}

    def inputs(self, cells: Sequence[Cell]) -> Mapping[str, Path]:
        """The files that the record has digests of, by what they are."""
        roles: dict[Path, str] = {}
        for cell in cells:
            about = [str(value) for value in cell.about.values() if value is not None]
            for name, path in cell.files.items():
                roles.setdefault(path, " ".join([*about, name]))
        return {role: path / RESULTS if path.is_dir() else path for path, role in roles.items()}

    def sections(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Iterator[Section]:
        """The page's tables and figures, in their order.

        The first table is printed at the end of a run. What a figure's notes say stands instead of
        its seeds.
        """
        raise NotImplementedError(type(self).__name__)

    def csv(self, frame: "pandas.DataFrame", record: Mapping[str, Any]) -> Mapping[str, Table]:
        """Every number, unrounded, by the name of its CSV file."""
        from fairseq_xling.results.frame import listed

        known = [name for name in frame.columns if name not in ("paper", "study")]
        return {"table": listed(frame, [name for name in known if frame[name].notna().any()])}

    def measured(self, frame: "pandas.DataFrame", table: Section) -> Iterable[Measured]:
        """Figures for the index; ``table`` is the first one."""
        return ()

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

    def frame(self, cells: Iterable[Cell]) -> "pandas.DataFrame":
        """All that was measured."""
        from fairseq_xling.results.frame import make_frame

        rows = [{**cell.about, **row} for cell in cells for row in self.read(cell)]
        return self.arrange(make_frame(rows, paper=self.paper, study=self.name))

    def write(self, run: Path, config: Any, cells: Sequence[Cell], steps: Sequence[Step]) -> None:
        """Write the record with its frame, and the page, into ``run``."""
        frame = self.frame(cells)
        record = {"config": dataclasses.asdict(config), **self.recorded(config, cells, frame)}
        write_results(type(self), run, record, self.inputs(cells), steps, frame)

    def page(self, result: Result) -> Page:
        frame, record = result.frame, result.record
        seeds = record["config"].get("seeds", "")
        facts = [seeds_in_words(seeds, self.drawn)] if seeds else []
        sections: list[Section] = []
        first = Section("")
        for one in self.sections(frame, record):
            if one.figure:
                notes = caption(result, self.source, *(one.notes or facts))
                one = dataclasses.replace(one, notes=notes)
            elif one.header and not first.header:
                notes = [*one.notes, f"{result.machine}."]
                first = one = dataclasses.replace(one, name="table", notes=notes)
            sections.append(one)
        return Page(
            title=self.title,
            source=self.source,
            lead=[self.lead],
            sections=sections,
            tables=self.csv(frame, record),
            measured=list(self.measured(frame, first)),
        )
