"""Studies of CLCR: how much parallel text it needs, and what the paper leaves open.

Each has the settings of `clcr run`, several parts, and a task to test their vectors by. A part is
what is trained in one way, with every seed.

`clcr-pairs`: the same training on nested subsets of the sentence pairs. The paper has 250,000
pairs, and reports that more bring nothing (CLCR, 4.3). Encoders, and the text to validate
and to tune the threshold on, are the same for every size.

`clcr-readings`: Sections 3.1 to 3.3 and its attention, read in other ways. Each reading has what
the defaults have up to where it differs.
"""

import argparse
import copy
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.errors import UserError
from fairseq_xling.options import option, parse_numbers, reads, to_argv
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
from fairseq_xling.registry import unknown_name
from fairseq_xling.runs.options import add_options, load_config
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.ablations import STUDIES

if TYPE_CHECKING:
    from fairseq_xling.papers.clcr.plan import Artifacts, Plan

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested
FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")


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


def check_task(config: ClcrTaskConfig, pair: tuple[str, str]) -> None:
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


def texts_of(run: Path, file: LabelledFile) -> list[Text]:
    """The premises and hypotheses of a labelled file, which a step writes."""
    stem = _stem(file)
    return [
        Text(f"{stem}.{side}", file.lang, str(run / "texts" / f"{stem}.{file.lang}.{side}"))
        for side in SIDES
    ]


def _stem(file: LabelledFile) -> str:
    """The name of a labelled file without its ending and language, as in a pattern of folders."""
    return str(places_of(file.path, file.lang, 0)["name"])


@dataclasses.dataclass
class Part:
    """What is trained in one way, with every seed.

    Attributes:
        name: what its files are below; row: of the table.
        artifacts: the files of each seed.
    """

    run: Path
    name: str
    row: int | str
    config: ClcrTaskConfig
    artifacts: "list[Artifacts]" = dataclasses.field(default_factory=list)

    @property
    def classified(self) -> Path | None:
        """The folder of its classifier; None without a task."""
        return self.run / self.name / "classified" if self.config.labelled else None

    @property
    def results(self) -> list[Path]:
        """The files and folders that its figures are read from."""
        found = [log for one in self.artifacts for log in one.logs.values()]
        found += [one.labels for one in self.artifacts if one.labels]
        found += [table for one in self.artifacts for table in one.tables.values()]
        return found + ([self.classified] if self.classified else [])

    def classify(self) -> list[Step]:
        """A classifier of every row, trained in one language and tested in both; with a task."""
        config, output = self.config, self.classified
        if output is None:
            return []
        places = self.run / self.name / "sequences" / "{seed}"
        command = [
            *("fairseq-xling", "clcr", "classify"),
            *to_argv(config, "train", "valid", "test"),
            *(
                word
                for row in config.row_list
                for word in ("--vectors", f"{row}={places / row}/{{name}}.{{side}}.{{lang}}")
            ),
            *_reading(config),
            *to_argv(config, "seeds", "device"),
            *("--output", str(output), *config.words("classify_args")),
        ]
        inputs = [file.path for file in config.labelled]
        inputs += [folder for one in self.artifacts for folder in one.sequences]
        name = f"{self.name}-classify"
        return [Step(name, commands=[command], inputs=inputs, outputs=[output], resumable=True)]


def texts_steps(run: Path, config: ClcrTaskConfig) -> list[Step]:
    """Steps that write the premises and hypotheses of each labelled file, as text."""
    steps = []
    for file in config.labelled:
        outputs = [Path(text.file) for text in texts_of(run, file)]
        command = [
            *("fairseq-xling", "clcr", "texts", str(file.path)),
            *_reading(config),
            *("--output", str(outputs[0].with_suffix(""))),
        ]
        steps.append(
            Step(f"texts-{file.name}", commands=[command], inputs=[file.path], outputs=outputs)
        )
    return steps


def _reading(config: ClcrTaskConfig) -> list[str]:
    """How labelled files are read."""
    given = {"--format": config.format, "--columns": config.columns}
    return [word for option, value in given.items() if value for word in (option, value)]


class ClcrStudy:
    """The steps of all parts with every seed, and of the table.

    Attributes:
        config: its settings, whose ``table_rows`` are what the rows of the table are of.
        result: the class of its results.
    """

    config: Any
    result: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments

        add_run_arguments(parser)
        add_options(parser, self.config)

    def part(
        self, run: Path, config: Any, pair: tuple[str, str], row: Any
    ) -> tuple[Part, ClcrRunConfig, list[Step]]:
        """The part of a row, its settings, and steps before its trainings."""
        raise NotImplementedError(type(self).__name__)

    def plan(self, plan: "Plan", row: Any) -> None:
        """Plan what a row trains and measures, before it encodes texts."""
        raise NotImplementedError(type(self).__name__)

    def recorded(self, rows: Sequence[Any]) -> dict[str, Any]:
        """What else its results record."""
        return {}

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.papers.clcr import ablations_result
        from fairseq_xling.papers.clcr.plan import Plan
        from fairseq_xling.runs.launcher import run_steps
        from fairseq_xling.runs.settled import settle_config

        config, run = load_config(self.config, args, PRESETS), Path(args.output)
        folder, pair = check_config(config)
        check_task(config, pair)
        rows = config.table_rows
        config, settled = settle_config(run, config)
        encoded = [text for file in config.labelled for text in texts_of(run, file)]
        check_sequences(config, folder, pair, encoded)
        steps, parts = texts_steps(run, config), []
        for row in rows:
            part, own, before = self.part(run, config, pair, row)
            steps += before
            for seed in config.seed_list:
                plan = Plan(run, own, folder, pair, seed, part.name)
                self.plan(plan, row)
                plan.encode(encoded)
                part.artifacts.append(plan.artifacts)
                steps += plan.steps
            steps += part.classify()
            parts.append(part)
        kind = getattr(ablations_result, self.result)
        given = kind, run, config, pair, parts, list(steps)
        table = Step(
            "table",
            call=functools.partial(ablations_result.write_study, *given, **self.recorded(rows)),
            settings={"config": dataclasses.asdict(config), "kind": kind.name},
            inputs=[path for part in parts for path in part.results],
            outputs=[run / name for name in FILES],
        )
        run_steps(run, [*steps, table], config.jobs, args, settled)


@dataclasses.dataclass(frozen=True)
class ClcrPairsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    sizes: str = option("", "numbers of sentence pairs to train on, e.g. 1000,4000,16000")

    @property
    def table_rows(self) -> list[int]:
        return sorted(parse_numbers("--sizes", self.sizes, int))


@STUDIES.register("clcr-pairs")
class ClcrPairs(ClcrStudy):
    """The same training on nested subsets of the sentence pairs."""

    help = "distance, pivots, accuracy and time of CLCR by the number of sentence pairs"
    spec_rows = ("C17",)
    config, result = ClcrPairsConfig, "PairsResult"

    def part(
        self, run: Path, config: ClcrPairsConfig, pair: tuple[str, str], row: int
    ) -> tuple[Part, ClcrRunConfig, list[Step]]:
        from fairseq_xling.papers.trelm.data import keep_pairs

        data, name = Path(config.data), f"pairs-{row}"
        output = run / "data" / name
        settings = {"pair": list(pair), "count": row, "seed": _SUBSET_SEED, "option": "--sizes"}
        subset = Step(
            f"subset-{row}",
            call=functools.partial(keep_pairs, data, output, **settings),
            settings=settings,
            inputs=[data],
            outputs=[output],
        )
        own = dataclasses.replace(config, data=str(output))
        return Part(run, name, row, config), own, [subset]

    def plan(self, plan: "Plan", row: int) -> None:
        plan.train()
        plan.modules()


# The stages of a training in their order; a reading shares those before the first that it changes.
STAGES = ("transform", "extract", "order")


@dataclasses.dataclass(frozen=True)
class Reading:
    """Another reading of one point.

    Attributes:
        name: of the row, and of its files; title: what is read.
        since: the first stage that it changes, one of `STAGES`.
        changes: settings of `clcr run`.
    """

    name: str
    title: str
    since: str = STAGES[0]
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


DEFAULTS = Reading("defaults", "settings of the configuration")
READINGS = (
    DEFAULTS,
    Reading(
        "transformed",
        "attention by dot products of transformed states",
        changes={"attention_score": "transformed"},
    ),
    Reading(
        "lm-phases",
        "attention annealed in the phases of the encoders alone (Figure 1)",
        changes={"anneal_phases": "lm1,lm2"},
    ),
    Reading(
        "finetune",
        "key-points by fine-tuned copies of the encoders (Table 2)",
        "extract",
        {"extract_encoder": "finetune"},
    ),
    Reading(
        "second",
        "the second language is put into the order of the first",
        "order",
        {"order_sides": "second"},
    ),
)


@dataclasses.dataclass(frozen=True)
class ClcrReadingsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    readings: str = option(
        "",
        "readings to compare with the defaults, of "
        f"{', '.join(one.name for one in READINGS if one is not DEFAULTS)} (default: all)",
    )

    @property
    def table_rows(self) -> list[Reading]:
        """The chosen ones, after the defaults; without a choice, those that change something."""
        named = {one.name: one for one in READINGS if one is not DEFAULTS}
        if not self.readings:
            return [DEFAULTS, *(one for one in named.values() if self._changes(one))]
        names = [name.strip() for name in self.readings.split(",")]
        for name in names:
            if name not in named:
                raise unknown_name("reading", name, [*named])
            if names.count(name) > 1:
                raise UserError(f"`--readings` must name {name!r} once")
        for name in names:
            if not self._changes(named[name]):
                raise UserError(f"`--readings` {name!r} changes nothing that is trained here")
        return [DEFAULTS, *(named[name] for name in names)]

    def _changes(self, reading: Reading) -> bool:
        """Whether a reading changes anything that is trained here."""
        trained = {"extract": self.extract_steps, "order": self.order_list}
        if not trained.get(reading.since, True):
            return False
        if "anneal_phases" in reading.changes and not self.anneal_beta:  # nothing is annealed
            return False
        return any(getattr(self, field) != value for field, value in reading.changes.items())


@STUDIES.register("clcr-readings")
class ClcrReadings(ClcrStudy):
    """One row for each other reading; the first has the settings of the configuration."""

    help = "what CLCR leaves open: attention, annealed phases, encoder of key-points, order"
    spec_rows = ("C4", "C10", "C13", "C15")
    config, result = ClcrReadingsConfig, "ReadingsResult"

    def __init__(self) -> None:
        # The files that a stage begins with, by seed and stage, where nothing has changed them:
        # the first reading adds its own.
        self._begun: dict[tuple[int, str], Artifacts] = {}

    def part(
        self, run: Path, config: ClcrReadingsConfig, pair: tuple[str, str], row: Reading
    ) -> tuple[Part, ClcrRunConfig, list[Step]]:
        own = dataclasses.replace(config, **row.changes)
        return Part(run, row.name, row.name, config), own, []

    def plan(self, plan: "Plan", row: Reading) -> None:
        """Plan the stages that are the reading's own, with its tables."""
        if (plan.seed, row.since) in self._begun:
            plan.artifacts = copy.deepcopy(self._begun[plan.seed, row.since])
        for stage in STAGES[STAGES.index(row.since) :]:
            self._begun.setdefault((plan.seed, stage), copy.deepcopy(plan.artifacts))
            if stage == "transform":
                plan.train()
                plan.label()
            elif stage == "extract":
                plan.extract()
            else:
                plan.order()
        plan.tables()

    def recorded(self, rows: Sequence[Reading]) -> dict[str, Any]:
        known = [{"name": x.name, "title": x.title, "changes": dict(x.changes)} for x in rows]
        return {"readings": known}
