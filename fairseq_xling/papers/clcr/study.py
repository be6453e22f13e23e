"""Studies of CLCR: a training with every seed for each row of a table, and a task for its vectors.

Each has the settings of `clcr run`, and labelled files by which to test the vectors of every row.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, reads, to_argv
from fairseq_xling.papers.clcr.classify_config import (
    SIDES,
    ClassifyConfig,
    LabelledFile,
    labelled_files,
    places_of,
)
from fairseq_xling.papers.clcr.config import (
    PRESETS,
    ClcrRunConfig,
    Text,
    check_config,
    check_sequences,
)
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, arranged, by_seed, distinct, select
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Run, Study
from fairseq_xling.workflow.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.clcr.plan import Artifacts, Plan

# Trainings by what their names begin with.
MODULES = {"T": ("transform", "lm"), "E": ("extract",), "R": ("order",)}
HARD, RELATIVE, F1 = "hard D", "relative D", "pivot F1 (%)"
DISTANCE = "relative D (lower is better)"
_UNITS = {HARD: ("of distance", 3), DISTANCE: ("of the spread", 3)}  # of differences
# How a measure is shown: its column of the table; in the figure by size, its panel and its line.
SHOWN: dict[str, dict[str, Any]] = {
    "hard": {"column": HARD, "panel": HARD, "line": "T"},
    "relative": {
        **{"column": RELATIVE, "panel": "D / spread of the target's states", "line": "T"},
        **{"chance": 1.0, "chance is": "chance"},
    },
    "f1": {"column": F1, "panel": F1, "line": "T", "unit": "%"},
    **{
        f"seconds of {module}": {
            **{"column": f"{module} (s)", "panel": "seconds of training", "line": module}
        }
        for module in MODULES
    },
}


@dataclasses.dataclass(frozen=True)
class ClcrTaskConfig(ClcrRunConfig):
    """One sentence of help per field."""

    train: str = reads(
        "", "LANG=FILE of labelled pairs to train a classifier on (default: no classifier)"
    )
    valid: str = reads("", "LANG=FILE, in the language of --train, for selecting its epoch")
    test: tuple[str, ...] = reads((), "LANG=FILE to test it on; repeatable")
    format: str = option("", "format of the labelled files: tsv or json_lines (default: tsv)")
    columns: str = option("", "which column of them holds what, e.g. text=0,pair=1,label=2")
    classify_args: str = option("", "more options of `fairseq-xling clcr classify`, as one text")

    @property
    def labelled(self) -> list[LabelledFile]:
        """The labelled files; none without a classifier. Errors as `labelled_files`."""
        if not (self.train or self.valid or self.test):
            return []
        return labelled_files(ClassifyConfig(train=self.train, valid=self.valid, test=self.test))


def _check_task(config: ClcrTaskConfig, pair: tuple[str, str]) -> None:
    """Reject a task that cannot be trained or tested on the sequences."""
    from fairseq_xling.papers.clcr.sequence_variants import rows

    files = config.labelled
    for file in files:
        if file.lang not in pair:
            raise UserError(f"{file.path}: must be in {' or '.join(pair)}, got {file.lang!r}")
    for name in config.row_list if files else ():
        if rows[name].reads_translation:
            raise UserError(
                f"`--rows` {name} reads translations, which labelled files do not have; leave it "
                "out"
            )
    stems = [_stem(file) for file in files]
    for file, stem in zip(files, stems, strict=True):
        if stems.count(stem) > 1:
            raise UserError(f"{file.path}: another labelled file has the same name and language")


def _texts_of(run: Path, file: LabelledFile) -> list[Text]:
    """The premises and hypotheses of a labelled file, which a step writes."""
    stem = _stem(file)
    return [
        Text(f"{stem}.{side}", file.lang, str(run / "texts" / f"{stem}.{file.lang}.{side}"))
        for side in SIDES
    ]


def _stem(file: LabelledFile) -> str:
    """The name of a labelled file without its ending and language, as in a pattern of folders."""
    return str(places_of(file.path, file.lang, 0)["name"])


def _texts_step(run: Path, config: ClcrTaskConfig, file: LabelledFile) -> Step:
    """Write the premises and hypotheses of a labelled file, as text."""
    outputs = [Path(text.file) for text in _texts_of(run, file)]
    command = ["fairseq-xling", "clcr", "texts", str(file.path), *_reading(config)]
    command += ["--output", str(outputs[0].with_suffix(""))]
    return Step(f"texts-{file.name}", commands=[command], inputs=[file.path], outputs=outputs)


def _classify_step(run: Path, name: str, config: ClcrTaskConfig, sequences: list[Path]) -> Step:
    """A classifier of every row, trained in one language and tested in both."""
    output, places = run / name / "classified", run / name / "sequences" / "{seed}"
    command = ["fairseq-xling", "clcr", "classify", *to_argv(config, "train", "valid", "test")]
    for row in config.row_list:
        command += ["--vectors", f"{row}={places / row}/{{name}}.{{side}}.{{lang}}"]
    command += [*_reading(config), *to_argv(config, "seeds", "device")]
    command += ["--output", str(output), *config.words("classify_args")]
    inputs = [*(file.path for file in config.labelled), *sequences]
    return Step(f"{name}-classify", [command], inputs=inputs, outputs=[output], resumable=True)


def _reading(config: ClcrTaskConfig) -> list[str]:
    """How labelled files are read."""
    given = {"--format": config.format, "--columns": config.columns}
    return [word for option, value in given.items() if value for word in (option, value)]


@dataclasses.dataclass(frozen=True)
class Part(Cell):
    """What is trained in one way, with every seed.

    Attributes:
        name: what its files are below.
        artifacts: the files of each seed.
        classified: the folder of its classifier; None without a task.
    """

    name: str
    config: ClcrTaskConfig
    pair: tuple[str, str]
    artifacts: Sequence[Artifacts]
    classified: Path | None


class ClcrStudy(Study):
    """The base of studies: ``config`` has a ``table_rows``, what each row of the table is of.

    Attributes:
        first: the first column; figure_title: of the figure.
    """

    paper, presets = "clcr", PRESETS
    files = ONE_FIGURE
    first: ClassVar[str]
    figure_title: ClassVar[str]

    # ---- what a study says

    def part(
        self, run: Path, config: Any, pair: tuple[str, str], row: Any
    ) -> tuple[str, Any, ClcrRunConfig, list[Step]]:
        """The name of a row's files, what the table calls it, its settings, and steps before its
        trainings."""
        raise NotImplementedError(type(self).__name__)

    def train(self, plan: Plan, row: Any) -> None:
        """Plan what a row trains and measures, before it encodes texts."""
        raise NotImplementedError(type(self).__name__)

    def further(self, rows: Sequence[Row], cell: Part) -> Iterable[Row]:
        """Further figures of a seed, from its rows of `read_artifacts`."""
        return ()

    def notes(self, rows: Sequence[Row], config: Any) -> Iterator[str]:
        """The notes of the table."""
        raise NotImplementedError(type(self).__name__)

    def chart(self, columns: Sequence[str]) -> Chart:
        """The figure; ``columns`` are those of the table."""
        raise NotImplementedError(type(self).__name__)

    # ---- what is the same for all

    def check(self, config: Any) -> Any:
        _, pair = check_config(config)
        _check_task(config, pair)
        _ = config.table_rows  # raises for errors
        return config

    def plan(self, planned: Run, config: Any) -> None:
        from fairseq_xling.papers.clcr.plan import Plan

        run = planned.folder
        folder, pair = check_config(config)
        encoded = [text for file in config.labelled for text in _texts_of(run, file)]
        check_sequences(config, folder, pair, encoded)
        steps = [_texts_step(run, config, file) for file in config.labelled]
        cells: list[Cell] = []
        for row in config.table_rows:
            name, called, own, before = self.part(run, config, pair, row)
            steps += before
            artifacts = []
            for seed in config.seed_list:
                plan = Plan(run, own, folder, pair, seed, name)
                self.train(plan, row)
                plan.encode(encoded)
                artifacts.append(plan.artifacts)
                steps += plan.steps
            files = [log for one in artifacts for log in one.logs.values()]
            files += [one.labels for one in artifacts if one.labels]
            files += [table for one in artifacts for table in one.tables.values()]
            classified = None
            if config.labelled:
                sequences = [path for one in artifacts for path in one.sequences]
                steps.append(_classify_step(run, name, config, sequences))
                (classified,) = steps[-1].outputs
                files.append(classified)
            named = {str(path): path for path in files}
            about = {"row": called, "source": pair[0], "target": pair[1]}
            cells.append(Part(about, named, name, config, pair, artifacts, classified))
        for step in steps:
            planned.add(step)
        planned.cells += cells

    def read(self, cell: Any) -> Iterator[Row]:
        """In the order of the table's columns, whose headings are ``column``: figures of the
        trainings of each seed, accuracies, what the study measures else, and seconds."""
        from fairseq_xling.papers.clcr.plan import read_artifacts
        from fairseq_xling.papers.trelm.results import read_cost

        found = [(one, read_artifacts(one, cell.pair)) for one in cell.artifacts]
        for artifacts, rows in found:
            yield from _trained(rows, cell.pair, artifacts.seed)
        if cell.classified is not None:
            yield from accuracies(read_record(cell.classified).rows)
        for artifacts, rows in found:
            yield from ({"seed": artifacts.seed, **row} for row in self.further(rows, cell))
        for artifacts, _ in found:
            seconds: dict[str, float] = {}
            for name, log in artifacts.logs.items():
                module = next(m for m, begins in MODULES.items() if name.startswith(begins))
                seconds[module] = seconds.get(module, 0.0) + read_cost(log)["seconds"]
            for module in filter(seconds.__contains__, MODULES):
                measure = f"seconds of {module}"
                about = {"seed": artifacts.seed, "measure": measure, **SHOWN[measure]}
                yield {**about, "value": seconds[module]}

    def inputs(self, cells: Sequence[Any]) -> dict[str, Path]:
        """The models alone."""
        return {f"model, {x.name}, seed {y.seed}": y.model for x in cells for y in x.artifacts}

    def record(self, rows: Sequence[Row], config: Any) -> Record:
        record, pair = super().record(rows, config), "{source} and {target}".format(**rows[0])
        return dataclasses.replace(record, title=f"{record.title}, {pair}")

    def sections(self, rows: Sequence[Row], config: Any) -> Iterator[Section]:
        columns = [name for name in distinct(rows, "column") if name]
        digits = {name: 3 for name in columns if not name.endswith((" (%)", " (s)"))}
        digits |= {name: 0 for name in columns if name.endswith(" (s)")}
        table = Table({self.first: "row"}, "column", {"column": GIVEN}, digits={"*": 1, **digits})
        yield Section("Table", table, notes=list(self.notes(rows, config)), name="table")
        yield Section(self.figure_title, chart=self.chart(columns), name="plot")


def _trained(rows: Sequence[Row], pair: Sequence[str], seed: int) -> Iterator[Row]:
    """Of the rows of `read_artifacts`: means of both directions after the last phase, and F1 of
    tuned pivots."""
    from fairseq_xling.papers.clcr.plan import DISTANCES, PIVOTS

    last = {row["measure"]: row.get("value") for row in select(rows, {"task": DISTANCES})}
    figures: dict[str, float | None] = {}
    for kind in ("hard", "relative"):
        values = [last[f"{kind} {' '.join(way)}"] for way in (pair, pair[::-1])]
        figures[kind] = None if None in values else statistics.fmean(values)  # type: ignore[type-var]
    for row in select(rows, {"task": PIVOTS}):
        if row["measure"].startswith("F1"):
            figures["f1"] = 100 * row["value"]
        elif row["measure"] == "pivots":
            figures["pivots"] = row["value"]
    for name, value in figures.items():
        yield {"seed": seed, "measure": name, **SHOWN.get(name, {}), "value": value}


def accuracies(rows: Sequence[Row]) -> Iterator[Row]:
    """Of the rows of `clcr classify` the accuracies of its classifiers; the table has those in
    other languages than the one trained on."""
    always = rows[0]["row"]
    own = select(rows, {"measure": "accuracy", "seed": GIVEN, "value": GIVEN})
    for row in arranged(own, "task"):
        names = ("seed", "source", "target", "task", "value", "unit", "chance")
        about = {name: row[name] for name in names if name in row}
        about |= {"model": row["row"], "measure": f"accuracy, {row['row']}, {row['task']}"}
        if row["target"] != row["source"]:
            about |= {"column": f"{row['row']}, {row['column']} (%)", "line": row["row"]}
            about |= {"panel": f"accuracy in {row['column']} (%)", "chance is": always}
        yield about


Sides = dict[str, tuple[list[float], list[float]]]


def differences(rows: Iterable[Row], after: Any, before: Any) -> Sides:
    """Both sides of each column that two rows have, by the seeds that both have."""
    sides = {}
    found = by_seed(rows, "column", "row")
    for column, row in found:
        own, other = found[column, row], found.get((column, before), {})
        seeds = sorted({*own} & {*other})
        if row == after and seeds:
            name = DISTANCE if column == RELATIVE else column.removesuffix(" (%)")
            sides[name] = [own[x] for x in seeds], [other[x] for x in seeds]
    return sides


def differences_in_words(sides: Sides) -> str:
    """The name of each figure, and the mean of its differences with their test."""
    return "; ".join(
        f"{name} {in_words(paired_difference(*both), *_UNITS.get(name, ('points', 1)))}"
        for name, both in sides.items()
    )


def zero_shot_note(what: str, rows: Sequence[Row]) -> list[str]:
    """What accuracies are, and that of the most frequent label, if it is known."""
    own = select(rows, {"model": GIVEN, "column": GIVEN})
    if not own:
        return []
    known = {row["task"]: row["chance"] for row in own if "chance" in row}
    always = f"; {own[0]['chance is']}: {statistics.fmean(known.values()):.1f}" if known else ""
    return [
        f"Accuracy{what} is zero-shot: a classifier trained on {own[0]['source']}, tested on other "
        f"languages{always}."
    ]
