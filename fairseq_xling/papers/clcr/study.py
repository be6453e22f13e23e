"""Studies of CLCR: a training with every seed for each row of a table, and a task for its vectors.

Each has the settings of `clcr run`, and labelled files by which to test the vectors of every row.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
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
from fairseq_xling.results.page import Measured, Page, Result
from fairseq_xling.results.paired import in_words, paired_difference
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import find_results
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.study import ONE_FIGURE, Cell, Study, Table, tabled

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from fairseq_xling.papers.clcr.plan import Artifacts, Plan

# Trainings by what their names begin with.
MODULES = {"T": ("transform", "lm"), "E": ("extract",), "R": ("order",)}
HARD, RELATIVE, F1 = "hard D", "relative D", "pivot F1 (%)"
DISTANCE = "relative D (lower is better)"
_UNITS = {HARD: ("of distance", 3), DISTANCE: ("of the spread", 3)}  # of differences
# Of the tables of key-points and orders: their column, that of the page, and its unit.
KEYPOINTS = (("accuracy", "E, {} (%)", 100.0, 1), ("entropy", "entropy of E, {} (bits)", 1.0, 3))
ORDERS = (("BLEU-2", "order BLEU-2", 1.0, 3),)
Record = Mapping[str, Any]


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
        codes: rows of the specification by what the columns that measure them begin with.
        indexed: the rows of which the index has figures, and what follows their names there.
    """

    paper, presets = "clcr", PRESETS
    files = ONE_FIGURE
    first: ClassVar[str]
    figure_title: ClassVar[str]
    codes: ClassVar[Mapping[str, str]]
    indexed: ClassVar[tuple[slice, str]] = slice(None), ""

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

    def about(self, config: Any) -> dict[str, Any]:
        """What else its results record."""
        return {}

    def further(self, rows: Sequence[Record], config: Any) -> dict[str, float]:
        """Further figures of a seed, from its rows of `read_artifacts`."""
        return {}

    def notes(self, record: Record, shown: pandas.DataFrame) -> Iterator[str]:
        """The notes of the table; ``shown`` are its figures, as of `shown_figures`."""
        raise NotImplementedError(type(self).__name__)

    def draw(self, record: Record, shown: pandas.DataFrame) -> Figure:
        """The figure."""
        raise NotImplementedError(type(self).__name__)

    # ---- what is the same for all

    def check(self, config: Any) -> Any:
        _, pair = check_config(config)
        _check_task(config, pair)
        _ = config.table_rows  # raises for errors
        return config

    def plan(self, run: Path, config: Any) -> tuple[list[Step], list[Cell]]:
        from fairseq_xling.papers.clcr.plan import Plan

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
            about = {"row": called}
            cells.append(Part(about, named, name, config, pair, artifacts, classified))
        return steps, cells

    def read(self, cell: Any) -> Iterable[Mapping[str, Any]]:
        """Figures of the trainings of each seed, accuracies, and what the study measures else."""
        from fairseq_xling.papers.clcr.classify_result import accuracies
        from fairseq_xling.papers.clcr.run_result import read_artifacts

        found = [read_artifacts(one, cell.pair) for one in cell.artifacts]
        for (about, rows), artifacts in zip(found, cell.artifacts, strict=True):
            figures = _trained(artifacts, about, rows, cell.pair)
            yield from measurements(figures, seed=artifacts.seed)
        if cell.classified is not None:
            (result,) = find_results(cell.classified)
            own = accuracies(result.frame)
            names = "accuracy, " + own["row"] + ", " + own["task"]
            columns = ["seed", "model", "task", "measure", "value"]
            yield from own.assign(model=own["row"], measure=names)[columns].to_dict("records")
        for about, rows in found:
            yield from measurements(self.further(rows, cell.config), seed=about["seed"])

    def recorded(
        self, config: Any, cells: Sequence[Any], frame: pandas.DataFrame
    ) -> dict[str, Any]:
        record = {"pair": list(cells[0].pair), **self.about(cells[0].config)}
        if classified := cells[-1].classified:
            (result,) = find_results(classified)
            record |= {name: result.record[name] for name in ("source", "tests", "majority")}
        return record

    def inputs(self, cells: Sequence[Any]) -> dict[str, Path]:
        """The models alone."""
        return {f"model, {x.name}, seed {y.seed}": y.model for x in cells for y in x.artifacts}

    def page(self, result: Result) -> Page:
        page, (first, second) = super().page(result), result.record["pair"]
        return dataclasses.replace(page, title=f"{page.title}, {first} and {second}")

    def sections(self, frame: pandas.DataFrame, record: Record) -> Iterator[Section]:
        from fairseq_xling.results.frame import pivot

        shown = shown_figures(record, frame)
        digits = dict(zip(shown["column"], shown["digits"], strict=True))
        table = pivot(shown, {self.first: "row"}, "column", digits=digits)
        yield tabled("Table", table, *self.notes(record, shown))
        yield Section(self.figure_title, figure=partial(self.draw, record, shown), name="plot")

    def csv(self, frame: pandas.DataFrame, record: Record) -> dict[str, Table]:
        from fairseq_xling.results.frame import listed

        names = {self.first: "row", "seed": "seed", "figure": "measure", "value": "value"}
        return {"table": listed(frame, names)}

    def measured(self, frame: pandas.DataFrame, table: Section) -> Iterator[Measured]:
        chosen, unit = self.indexed
        for place, column in enumerate(table.header[1:], start=1):
            for code in [x for begins, x in self.codes.items() if column.startswith(begins)]:
                for row in table.rows[chosen]:
                    if row[place] is not None:
                        yield Measured(code, f"{column}, {row[0]}{unit}", row[place].mean)


def measurements(figures: Mapping[str, float | None], **about: Any) -> list[dict[str, Any]]:
    """Rows of a frame for those ``figures`` that are known."""
    return [{**about, "measure": x, "value": v} for x, v in figures.items() if v is not None]


def _trained(
    artifacts: Artifacts, about: Record, rows: Sequence[Record], pair: Sequence[str]
) -> dict[str, float | None]:
    """Means of both directions after the last phase, F1 of tuned pivots, and seconds."""
    from fairseq_xling.papers.trelm.results import read_cost

    last = {row["measure"]: row["value"] for row in rows if row["table"] == "distances"}
    figures: dict[str, float | None] = {}
    for kind in ("hard", "relative"):
        names = [" ".join([kind, *way]).replace("_", " ") for way in (pair, pair[::-1])]
        values = [last[name] for name in names]
        figures[kind] = None if None in values else statistics.fmean(values)
    figures |= {"f1": (about["tuned"] or {}).get("f1"), "pivots": about["pivots"]["pivots"]}
    seconds: dict[str, float] = {}
    for name, log in artifacts.logs.items():
        module = next(m for m, begins in MODULES.items() if name.startswith(begins))
        seconds[module] = seconds.get(module, 0.0) + read_cost(log)["seconds"]
    return figures | {f"seconds of {module}": seconds[module] for module in sorted(seconds)}


def shown_figures(record: Record, frame: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of ``frame`` that the page shows, in the order of the table's columns: ``column``
    and ``digits``, and values in its unit."""
    from fairseq_xling.verbs.parts.probe import shown

    known = {"hard": (HARD, 3), "relative": (RELATIVE, 3), "f1": (F1, 1)}
    tests = dict(record.get("tests", ()))
    for file, lang in tests.items():
        for model in dict.fromkeys(frame["model"].dropna()) if lang != record["source"] else ():
            known[f"accuracy, {model}, {file}"] = (f"{model}, {shown(tests, file)} (%)", 1)
    for lang in record["pair"]:
        known |= {
            name.format(lang): (name.format(lang), digits) for _, name, _, digits in KEYPOINTS
        }
    known |= {name: (name, digits) for _, name, _, digits in ORDERS}
    known |= {f"seconds of {module}": (f"{module} (s)", 0) for module in MODULES}
    order = {measure: place for place, measure in enumerate(known)}
    found = frame[frame["measure"].isin(order)]
    found = found.sort_values("measure", key=lambda names: names.map(order), kind="stable")
    columns, digits = zip(*(known[measure] for measure in found["measure"]), strict=True)
    percent = zip(found["measure"], found["value"], strict=True)
    values = [100 * value if measure == "f1" else value for measure, value in percent]
    return found.assign(column=columns, digits=digits, value=values)


Sides = dict[str, tuple[list[float], list[float]]]


def differences(shown: pandas.DataFrame, after: Any, before: Any) -> Sides:
    """Both sides of each figure that two rows have, by the seeds that both have."""
    from fairseq_xling.results.frame import by_seed

    sides = {}
    found = by_seed(shown, "column", "row")
    for column in dict.fromkeys(shown["column"]):
        own, other = found.get((column, after), {}), found.get((column, before), {})
        if seeds := sorted({*own} & {*other}):
            name = DISTANCE if column == RELATIVE else column.removesuffix(" (%)")
            sides[name] = [own[x] for x in seeds], [other[x] for x in seeds]
    return sides


def differences_in_words(sides: Sides) -> str:
    """The name of each figure, and the mean of its differences with their test."""
    return "; ".join(
        f"{name} {in_words(paired_difference(*both), *_UNITS.get(name, ('points', 1)))}"
        for name, both in sides.items()
    )


def chance_of(record: Record) -> tuple[float, str] | None:
    """The accuracy of the most frequent label, the mean over the test files of other languages."""
    if "majority" not in record:
        return None
    always = record["majority"]
    others = [file for file, lang in record["tests"] if lang != record["source"]]
    known = [always["accuracy"][file] for file in others if file in always["accuracy"]]
    return (statistics.fmean(known), f"always {always['label']}") if known else None


def zero_shot_note(rows: str, record: Record) -> list[str]:
    """What accuracies are, and that of the most frequent label, if it is known."""
    if "tests" not in record:
        return []
    chance = chance_of(record)
    return [
        f"Accuracy{rows} is zero-shot: a classifier trained on {record['source']}, tested on other "
        "languages" + (f"; {chance[1]}: {chance[0]:.1f}." if chance else ".")
    ]
