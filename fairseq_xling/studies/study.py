"""A study in one class: its options, its plan, what it measures, its page.

A subclass is registered twice, as a study of `fairseq-xling ablate` and as a kind of result, under
one name. It has

- ``config``: a frozen dataclass of its options;
- ``plan(run, config)``: the steps, and the `Cell`s that they leave;
- ``read(cell)``: what was measured there, row by row of the frame;
- ``tables(frame)`` and ``figures(frame)``: what its page shows.

Everything else is done here: presets and YAML files, number format, launchers, dry runs, resuming,
the step of the table, the record with its frame and provenance, and the page.
"""

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairseq_xling.results.page import Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import Kind, write_results
from fairseq_xling.runs.launcher import add_run_arguments, run_steps
from fairseq_xling.runs.options import add_options, load_config
from fairseq_xling.runs.settled import settle_config
from fairseq_xling.runs.step import Step

if TYPE_CHECKING:
    import pandas

Table = tuple[list[str], list[list[Any]]]


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one or several steps measured.

    Attributes:
        about: columns of the frame that all its rows share, such as ``row`` and ``seed``.
        files: that were written, by what they are; they become inputs of the table.
    """

    about: Mapping[str, Any]
    files: Mapping[str, Path]


class Study(Kind):
    """The base of studies; see the module.

    Attributes:
        paper: the folder of the paper's claims.
        title, source, lead: of the page; help: what the list of studies says.
        presets: values of the options by name, where ``config`` has a field ``preset``.
        spec_rows: rows of the specification that it implements.
        drawn: how figures show several seeds, as in `seeds_in_words`.
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

    # ---- what a study says

    def check(self, config: Any) -> Any:
        """Reject settings that cannot work, before anything runs; the settings to run with."""
        return config

    def plan(self, run: Path, config: Any) -> tuple[list[Step], list[Cell]]:
        """The steps, all of whose files are in ``run``, and what they measure."""
        raise NotImplementedError(type(self).__name__)

    def read(self, cell: Cell) -> Iterable[Mapping[str, Any]]:
        """What was measured: at least ``measure`` and ``value`` of each row."""
        raise NotImplementedError(type(self).__name__)

    def tables(self, frame: "pandas.DataFrame") -> Iterator[tuple[str, Table, list[str]]]:
        """Title, table and notes of each of the page; the first is printed at the end of a run."""
        raise NotImplementedError(type(self).__name__)

    def figures(self, frame: "pandas.DataFrame") -> Mapping[str, Any]:
        """By title, what draws each of the page's figures."""
        return {}

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
        run_steps(run, self.steps(run, config), config.jobs, args, settled)

    def steps(self, run: Path, config: Any) -> list[Step]:
        """The plan, and the step that reads it all and writes the page."""
        steps, cells = self.plan(run, config)
        record = dataclasses.asdict(config)
        table = Step(
            "table",
            call=lambda: self.write(run, record, cells, steps),
            settings={"config": record, "kind": self.name},
            inputs=[path for cell in cells for path in cell.files.values()],
            outputs=[run / name for name in ("table.md", "table.csv", "results.json")]
            + [run / "report.html"],
        )
        return [*steps, table]

    def write(
        self, run: Path, config: Mapping[str, Any], cells: Sequence[Cell], steps: Sequence[Step]
    ) -> None:
        """Write the record with its frame, and the page, into ``run``."""
        from fairseq_xling.results.frame import make_frame

        rows = [{**cell.about, **row} for cell in cells for row in self.read(cell)]
        frame = make_frame(rows, paper=self.paper, study=self.name)
        inputs = {
            " ".join([*map(str, cell.about.values()), name]): path
            for cell in cells
            for name, path in cell.files.items()
        }
        write_results(type(self), run, {"config": config}, inputs, steps, frame)

    def page(self, result: Result) -> Page:
        from fairseq_xling.results.frame import listed

        frame, seeds = result.frame, result.record["config"].get("seeds", "")
        facts = [seeds_in_words(seeds, self.drawn)] if seeds else []
        sections = []
        for number, (title, (header, rows), notes) in enumerate(self.tables(frame)):
            name = "" if number else "table"
            notes = [*notes, *([] if number else [f"{result.machine}."])]
            sections.append(Section(title, header=header, rows=rows, notes=notes, name=name))
        for number, (title, draw) in enumerate(self.figures(frame).items()):
            sections.append(
                Section(
                    title,
                    figure=partial(draw, frame),
                    notes=caption(result, self.source, *facts),
                    name=f"plot-{number + 1}",
                )
            )
        known = [name for name in frame.columns if name not in ("paper", "study")]
        shown = [name for name in known if frame[name].notna().any()]
        return Page(
            title=self.title,
            source=self.source,
            lead=[self.lead],
            sections=sections,
            tables={"table": listed(frame, shown)},
        )
