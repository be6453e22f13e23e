"""What the studies of CLCR share: a training with every seed for each row of a table, and labelled
files by which the vectors of every row are tested.
"""

import dataclasses
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, reads, to_argv
from fairseq_xling.papers.clcr.labelled import SIDES, LabelledFile, labelled_files
from fairseq_xling.papers.clcr.options import PRESETS, Options
from fairseq_xling.papers.clcr.rows import places_of
from fairseq_xling.papers.clcr.run import (
    DISTANCES,
    PIVOTS,
    ClcrRun,
    Text,
    check,
    check_rows,
    read_model,
)
from fairseq_xling.reports.paired import in_words, paired_difference
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Record, Section, read_record
from fairseq_xling.reports.rows import GIVEN, Row, arranged, by_seed, distinct, select
from fairseq_xling.workflow.recipe import ONE_FIGURE, Cell, Study, words
from fairseq_xling.workflow.step import Step

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
}
SHOWN |= {
    f"seconds of {x}": {"column": f"{x} (s)", "panel": "seconds of training", "line": x}
    for x in MODULES
}


@dataclasses.dataclass(frozen=True)
class TaskOptions(Options):
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
        return labelled_files(self.train, self.valid, self.test)


class Comparison(Study):
    """The base of the studies; ``measures`` is what of `ClcrRun.train` the table is made of."""

    paper, presets, files, run_type = "clcr", PRESETS, ONE_FIGURE, ClcrRun
    measures: ClassVar[tuple[str, ...]] = ("model", "log", "labels")

    def parts(self, run: ClcrRun, o: Any) -> Iterator[tuple[Any, ClcrRun]]:
        """What the table calls each row, and its run."""
        raise NotImplementedError(type(self).__name__)

    def further(self, rows: Sequence[Row], cell: Cell) -> Iterable[Row]:
        """Further figures of a seed, from its rows of `read_model`."""
        return ()

    def check(self, o: Any) -> Any:
        from fairseq_xling.papers.clcr.sequence_variants import rows

        o = check(o)
        files = o.labelled
        for file in files:
            if file.lang not in o.languages:
                what = " or ".join(o.languages)
                raise UserError(f"{file.path}: must be in {what}, got {file.lang!r}")
            if sum((_stem(one), one.lang) == (_stem(file), file.lang) for one in files) > 1:
                what = "another labelled file has the same name and language"
                raise UserError(f"{file.path}: {what}")
        for name in o.row_list if files else ():
            if rows[name].reads_translation:
                raise UserError(
                    f"`--rows` {name} reads translations, which labelled files do not have; leave "
                    "it out"
                )
        check_rows(o, [Text(file.name, file.lang, str(file.path)) for file in files])
        return o

    def plan(self, run: ClcrRun, o: Any) -> None:
        how = words({"--format": o.format, "--columns": o.columns})
        encoded = []
        for file in o.labelled:
            stem = f"texts/{_stem(file)}.{file.lang}"
            premises = run(
                f"texts-{file.name}",
                ["fairseq-xling", "clcr", "texts", file.path, *how],
                ["--output", run.folder / stem],
                to=f"{stem}.{SIDES[0]}",
                also=[f"{stem}.{SIDES[1]}"],
            )
            for side in SIDES:
                path = str(premises.with_suffix(f".{side}"))
                encoded.append(Text(f"{_stem(file)}.{side}", file.lang, path))
        for called, own in self.parts(run, o):
            files: dict[str, Path] = {}
            sequences: list[Path] = []
            for seed in o.seed_list:
                found = own.train(seed)
                for text in encoded:
                    sequences += own.encode(found, seed, text).values()
                kinds = {key: key.partition(" ")[0] for key in found}
                files |= {f"{seed} {x}": found[x] for x in found if kinds[x] in self.measures}
            if encoded:
                place = run.folder / own.label
                folders = place / "sequences" / "{seed}"
                command = ["fairseq-xling", "clcr", "classify"]
                command += to_argv(o, "train", "valid", "test")
                for row in o.row_list:
                    command += ["--vectors", f"{row}={folders / row}/{{name}}.{{side}}.{{lang}}"]
                command += [*how, *to_argv(o, "seeds", "device")]
                command += ["--output", str(place / "classified"), *o.words("classify_args")]
                to = {"inputs": sequences, "outputs": [place / "classified"], "resumable": True}
                files["classified"] = run.add(Step(f"{own.label}-classify", [command], **to))
            source, target = o.languages
            own.measured(files, row=called, source=source, target=target)

    def read(self, cell: Cell) -> Iterator[Row]:
        """In the order of the table's columns, whose headings are ``column``: figures of the
        trainings of each seed, accuracies, what the study measures else, and seconds."""
        from fairseq_xling.papers.trelm.results import read_cost

        pair, found = cell.options.languages, {}
        for seed in cell.options.seed_list:
            keys = [key for key in cell.files if key.startswith(f"{seed} ")]
            files = {key.partition(" ")[2]: cell.files[key] for key in keys}
            found[seed] = files, list(read_model(files, pair))
            yield from ({"seed": seed, **row} for row in _trained(found[seed][1], pair))
        if "classified" in cell.files:
            yield from accuracies(read_record(cell.files["classified"]).rows)
        for seed, (_, rows) in found.items():
            yield from ({"seed": seed, **row} for row in self.further(rows, cell))
        for seed, (files, _) in found.items():
            for module, begins in MODULES.items():
                logs = [files[x] for x in files if x.removeprefix("log ").startswith(begins)]
                if logs:
                    name = f"seconds of {module}"
                    seconds = sum(read_cost(log)["seconds"] for log in logs)
                    yield {"seed": seed, "measure": name, **SHOWN[name], "value": seconds}

    def inputs(self, cells: Sequence[Cell]) -> dict[str, Path]:
        """The models alone."""
        return {
            f"{cell.about['row']}, seed {key}": path
            for cell in cells
            for key, path in cell.files.items()
            if key.endswith(" model")
        }

    def record(self, rows: Sequence[Row], options: Any) -> Record:
        record, pair = super().record(rows, options), " and ".join(options.languages)
        return dataclasses.replace(record, title=f"{record.title}, {pair}")


def table_section(rows: Sequence[Row], first: str, notes: Sequence[str]) -> Section:
    """The table, whose first column is called ``first``."""
    columns = [name for name in distinct(rows, "column") if name]
    digits = {"*": 1} | {name: 0 for name in columns if name.endswith(" (s)")}
    digits |= {name: 3 for name in columns if not name.endswith((" (%)", " (s)"))}
    table = Table({first: "row"}, "column", {"column": GIVEN}, digits=digits)
    return Section("Table", table, notes=notes, name="table")


def _stem(file: LabelledFile) -> str:
    """The name of a labelled file without its ending and language, as in a pattern of folders."""
    return places_of(file.path, file.lang)["name"]


def _trained(rows: Sequence[Row], pair: Sequence[str]) -> Iterator[Row]:
    """Of the rows of `read_model`: means of both directions after the last phase, and F1 of tuned
    pivots."""
    last = {row["measure"]: row["value"] for row in select(rows, {"task": DISTANCES})}
    figures: dict[str, float | None] = {}
    for kind in ("hard", "relative"):
        values = [last[f"{kind} {' '.join(way)}"] for way in (pair, pair[::-1])]
        figures[kind] = None if None in values else statistics.fmean(values)
    pivots = {row["measure"]: row["value"] for row in select(rows, {"task": PIVOTS})}
    figures["pivots"] = pivots["pivots"]
    for value in (value for name, value in pivots.items() if name.startswith("F1")):
        figures["f1"] = 100 * value
    for name, value in figures.items():
        yield {"measure": name, **SHOWN.get(name, {}), "value": value}


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


def differences(rows: Iterable[Row], after: Any, before: Any, equal: bool = True) -> str:
    """The mean difference of each column that two rows have, over the seeds that both have, with
    its test; without ``equal`` only of those that differ."""
    said = []
    found = by_seed(rows, "column", "row")
    for column, row in found:
        own, other = found[column, row], found.get((column, before), {})
        seeds = sorted({*own} & {*other})
        sides = [own[x] for x in seeds], [other[x] for x in seeds]
        if row == after and seeds and (equal or sides[0] != sides[1]):
            name = DISTANCE if column == RELATIVE else column.removesuffix(" (%)")
            difference = in_words(paired_difference(*sides), *_UNITS.get(name, ("points", 1)))
            said.append(f"{name} {difference}")
    return "; ".join(said)


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
