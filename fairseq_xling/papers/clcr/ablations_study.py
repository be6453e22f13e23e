"""The two studies of CLCR: how much parallel text it needs, and what the paper leaves open.

`clcr-pairs`: the same training on nested subsets of the sentence pairs. The paper has 250,000
pairs, and reports that more bring nothing (CLCR, 4.3). Encoders, and the text to validate and to
tune the threshold on, are the same for every size.

`clcr-readings`: Sections 3.1 to 3.3 and its attention, read in other ways. Each reading has what
the defaults have up to where it differs.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option, parse_numbers
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.papers.clcr.config import ClcrRunConfig
from fairseq_xling.papers.clcr.study import (
    HARD,
    ClcrStudy,
    ClcrTaskConfig,
    Part,
    differences,
    differences_in_words,
    zero_shot_note,
)
from fairseq_xling.reports.record import Chart
from fairseq_xling.reports.rows import GIVEN, Row, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.workflow.recipe import Cell
from fairseq_xling.workflow.step import Step

if TYPE_CHECKING:
    from fairseq_xling.papers.clcr.plan import Artifacts, Plan

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


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

    name, options = "clcr-pairs", ClcrPairsConfig
    help = "distance, pivots, accuracy and time of CLCR by the number of sentence pairs"
    title, source = "CLCR by the number of sentence pairs", "CLCR, 4.3"
    lead = "The same training on nested subsets of the sentence pairs."
    first, figure_title = "pairs", "By size"

    def part(
        self, run: Path, config: ClcrPairsConfig, pair: tuple[str, str], row: int
    ) -> tuple[str, int, ClcrRunConfig, list[Step]]:
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
        return name, row, dataclasses.replace(config, data=str(output)), [subset]

    def train(self, plan: Plan, row: int) -> None:
        plan.train()
        plan.modules()

    def chart(self, columns: Sequence[str]) -> Chart:
        """Distances, pivots, accuracies, seconds: those that were measured."""
        chart = Chart("curve", {"column": columns}, "line", "row", panel="panel", ylabel="{panel}")
        return dataclasses.replace(chart, xlabel="sentence pairs", chance="{chance is}", log="x")

    def notes(self, rows: Sequence[Row], config: ClcrPairsConfig) -> Iterator[str]:
        many = len(config.seed_list) > 1
        yield (
            f"{'Mean ± standard deviation over seeds' if many else 'Seed'} {config.seeds}. "
            "Subsets are nested; encoders, and the text to validate on, are the same in every row."
        )
        yield (
            "D is that of validation text, the mean of both directions; hard: to each word's best "
            "partner alone; relative: divided by the spread of the target's states, chance 1."
        )
        if not config.threshold:
            yield (
                "F1 of pseudo-gold pivots against the word alignment of "
                f"{config.tune_on}, on which their threshold was tuned."
            )
        yield "Seconds are the wall time of the trainings; T with its phases of the encoders."
        yield from zero_shot_note("", rows)
        yield from gains(rows)


def gains(rows: Sequence[Row]) -> Iterator[str]:
    """What the most pairs give over the fewest, by seed."""
    columns = [x for x in distinct(rows, "column") if x and x != HARD and not x.endswith(" (s)")]
    fewest, most = min(distinct(rows, "row")), max(distinct(rows, "row"))
    sides = differences(select(rows, {"column": columns}), most, fewest)
    if fewest != most and sides:
        yield f"From {fewest:,} to {most:,} pairs: {differences_in_words(sides)}."


# Of the table of key-points: the column of the page by measure, and its unit.
KEYPOINTS = {"accuracy": ("E, {} (%)", 100.0), "entropy": ("entropy of E, {} (bits)", 1.0)}
ORDER = "order BLEU-2"
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
READINGS = {
    one.name: one
    for one in (
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
}


@dataclasses.dataclass(frozen=True)
class ClcrReadingsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    readings: str = option(
        "", f"readings to compare with the defaults, of {', '.join(READINGS)} (default: all)"
    )

    @property
    def table_rows(self) -> list[Reading]:
        """The chosen ones, after the defaults; without a choice, those that change something."""
        if not self.readings:
            return [DEFAULTS, *(one for one in READINGS.values() if self._changes(one))]
        names = [name.strip() for name in self.readings.split(",")]
        for name in names:
            if name not in READINGS:
                raise unknown_name("reading", name, [*READINGS])
            if names.count(name) > 1:
                raise UserError(f"`--readings` must name {name!r} once")
        for name in names:
            if not self._changes(READINGS[name]):
                raise UserError(f"`--readings` {name!r} changes nothing that is trained here")
        return [DEFAULTS, *(READINGS[name] for name in names)]

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

    name, options = "clcr-readings", ClcrReadingsConfig
    help = "what CLCR leaves open: attention, annealed phases, encoder of key-points, order"
    title, source = "Readings of what CLCR leaves open", "CLCR, Sections 3.1 to 3.3"
    lead = "The same training, with one point read in another way."
    first, figure_title = "reading", "By reading"

    def plan(self, run: Path, config: ClcrReadingsConfig) -> tuple[list[Step], list[Cell]]:
        # The files that a stage begins with, by seed and stage, where nothing has changed them:
        # the first reading adds its own.
        self._begun: dict[tuple[int, str], Artifacts] = {}
        return super().plan(run, config)

    def part(
        self, run: Path, config: ClcrReadingsConfig, pair: tuple[str, str], row: Reading
    ) -> tuple[str, str, ClcrRunConfig, list[Step]]:
        return row.name, row.name, dataclasses.replace(config, **row.changes), []

    def train(self, plan: Plan, row: Reading) -> None:
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

    def further(self, rows: Sequence[Row], cell: Part) -> Iterator[Row]:
        """Figures of key-points at the chosen threshold, and of the order that T+E+R has: by the
        first head, of the first language that has one, and the widest search."""
        from fairseq_xling.papers.clcr.measures import keypoints, order

        for lang in cell.pair:
            of = {"study": keypoints.STUDY, "delta": cell.config.delta, "target": lang}
            for row in select(rows, {**of, "measure": [*KEYPOINTS]}):
                name, scale = KEYPOINTS[row["measure"]]
                column = name.format(lang)
                if "value" in row:
                    about = {"target": lang, "measure": column, "column": column}
                    yield {**about, "value": scale * row["value"]}
        own = select(rows, {"study": order.STUDY, "measure": "BLEU-2", "value": GIVEN})
        head = cell.config.order_list[0] if own else ""
        own = [row for row in own if row["search"] and row["order"].split()[0] == head]
        if own := select(own, {"order": own[0]["order"]} if own else {}):
            yield {"measure": ORDER, "column": ORDER, "value": own[-1]["value"]}

    def chart(self, columns: Sequence[str]) -> Chart:
        """A panel for every column but the times."""
        drawn = [name for name in columns if not name.endswith(" (s)")]
        return Chart("bars", {"column": drawn}, panel="column", ylabel="{column}")

    def notes(self, rows: Sequence[Row], config: ClcrReadingsConfig) -> Iterator[str]:
        seeds = f"seeds {config.seeds}" if len(config.seed_list) > 1 else f"seed {config.seeds}"
        for name in distinct(rows, "row"):
            yield f"{name}: {READINGS.get(name, DEFAULTS).title}."
        yield (
            f"Mean ± standard deviation over {seeds}; a reading shares with the defaults what is "
            "trained before it differs."
        )
        yield (
            "D is that of validation text, the mean of both directions; relative: divided by the "
            "spread of the target's states, chance 1. E is the accuracy of key-points against "
            f"pseudo-gold pivots of validation text, where words with p above {config.delta} "
            "are kept; entropy: the mean of p's, 1 is chance. BLEU-2: precision of pairs of words "
            "in the found order, of the language that is reordered."
        )
        yield from zero_shot_note(" of T, T+E and T+E+R", rows)
        yield from changes(rows)


def changes(rows: Sequence[Row]) -> Iterator[str]:
    """What each reading changes against the first row, the defaults, by seed; what is equal is
    shared, or has not moved."""
    columns = [name for name in distinct(rows, "column") if name and name.endswith((" D", " (%)"))]
    compared = select(rows, {"column": columns})
    names = distinct(compared, "row")
    for reading in names[1:]:
        sides = differences(compared, reading, names[0])
        changed = {name: both for name, both in sides.items() if both[0] != both[1]}
        if changed:
            yield f"{reading} against the defaults: {differences_in_words(changed)}."
