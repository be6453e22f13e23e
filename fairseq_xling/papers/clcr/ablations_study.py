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
    DISTANCE,
    F1,
    HARD,
    KEYPOINTS,
    MODULES,
    ORDERS,
    RELATIVE,
    ClcrStudy,
    ClcrTaskConfig,
    Record,
    chance_of,
    differences,
    differences_in_words,
    zero_shot_note,
)
from fairseq_xling.results.paired import paired_verdict
from fairseq_xling.results.result import KINDS
from fairseq_xling.runs.step import Step
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.study import Cell

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from fairseq_xling.papers.clcr.plan import Artifacts, Plan

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


@dataclasses.dataclass(frozen=True)
class ClcrPairsConfig(ClcrTaskConfig):
    """One sentence of help per field."""

    sizes: str = option("", "numbers of sentence pairs to train on, e.g. 1000,4000,16000")

    @property
    def table_rows(self) -> list[int]:
        return sorted(parse_numbers("--sizes", self.sizes, int))


@KINDS.register("clcr-pairs")
@STUDIES.register("clcr-pairs")
class ClcrPairs(ClcrStudy):
    """The same training on nested subsets of the sentence pairs."""

    name, config, spec_rows = "clcr-pairs", ClcrPairsConfig, ("C17",)
    help = "distance, pivots, accuracy and time of CLCR by the number of sentence pairs"
    title, source = "CLCR by the number of sentence pairs", "CLCR, 4.3"
    lead = "The same training on nested subsets of the sentence pairs."
    codes = {"": "C17"}
    first, figure_title, indexed = "pairs", "By size", (slice(-1, None), " pairs")

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

    def draw(self, record: Record, shown: pandas.DataFrame) -> Figure:
        """Distances, pivots, accuracies, seconds: those that were measured."""
        from fairseq_xling.results.figures import Line, Panel, draw
        from fairseq_xling.results.frame import figures
        from fairseq_xling.results.statistics import OverSeeds

        zero_shot = dict.fromkeys(shown.loc[shown["task"].notna(), "column"])
        panels = [
            ("hard D", {HARD: "best partner alone"}, None),
            ("D / spread of the target's states", {RELATIVE: RELATIVE}, (1.0, "chance")),
            ("F1 (%)", {F1: "pivots"}, None),
            ("accuracy (%)", {x: x.removesuffix(" (%)") for x in zero_shot}, chance_of(record)),
            ("seconds of training", {f"{module} (s)": module for module in MODULES}, None),
        ]
        made = []
        for ylabel, names, chance in panels:
            lines = []
            for style, (name, label) in enumerate(names.items()):
                if found := figures(shown[shown["column"] == name], "row"):
                    cells = [OverSeeds(tuple(values), 3) for values in found.values()]
                    x, y = [size for (size,) in found], [cell.mean for cell in cells]
                    spread = [cell.spread or 0.0 for cell in cells]
                    lines.append(Line(label, x, y, style, spread=spread))
            if lines:
                made.append(Panel(lines, "sentence pairs", ylabel, chance=chance, log_x=True))
        return draw(made)

    def notes(self, record: Record, shown: pandas.DataFrame) -> Iterator[str]:
        config = record["config"]
        many = "," in config["seeds"]
        yield (
            f"{'Mean ± standard deviation over seeds' if many else 'Seed'} {config['seeds']}. "
            "Subsets are nested; encoders, and the text to validate on, are the same in every row."
        )
        yield (
            "D is that of validation text, the mean of both directions; hard: to each word's best "
            "partner alone; relative: divided by the spread of the target's states, chance 1."
        )
        if not config["threshold"]:
            yield (
                "F1 of pseudo-gold pivots against the word alignment of "
                f"{config['tune_on']}, on which their threshold was tuned."
            )
        yield "Seconds are the wall time of the trainings; T with its phases of the encoders."
        yield from zero_shot_note("", record)
        yield from gains(shown)


def gains(shown: pandas.DataFrame) -> Iterator[str]:
    """What the most pairs give over the fewest, by seed, and what the paper says of the last
    figure, which is of the most modules."""
    fewest, most = min(shown["row"]), max(shown["row"])
    sides = differences(shown[~shown["column"].str.endswith((HARD, " (s)"))], most, fewest)
    if fewest == most or not sides:
        return
    yield f"From {fewest:,} to {most:,} pairs: {differences_in_words(sides)}."
    *_, last = sides
    if last != DISTANCE:
        yield paired_verdict(
            "More sentence pairs give no gain (4.3, where there were 250,000).",
            *reversed(sides[last]),
            f"points of {last}, {fewest:,} pairs minus {most:,}",
        )


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


@KINDS.register("clcr-readings")
@STUDIES.register("clcr-readings")
class ClcrReadings(ClcrStudy):
    """One row for each other reading; the first has the settings of the configuration."""

    name, config, drawn = "clcr-readings", ClcrReadingsConfig, "whiskers"
    help = "what CLCR leaves open: attention, annealed phases, encoder of key-points, order"
    spec_rows = ("C4", "C10", "C13", "C15")
    title, source = "Readings of what CLCR leaves open", "CLCR, Sections 3.1 to 3.3"
    lead = "The same training, with one point read in another way."
    first, figure_title = "reading", "By reading"
    codes = {RELATIVE: "C4", "E, ": "C10", ORDERS[0][1]: "C13", "T, ": "C15", "T+": "C15"}

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

    def about(self, config: ClcrReadingsConfig) -> dict[str, Any]:
        rows = config.table_rows
        known = [{"name": x.name, "title": x.title, "changes": dict(x.changes)} for x in rows]
        return {"readings": known}

    def further(self, rows: Sequence[Record], config: ClcrReadingsConfig) -> dict[str, float]:
        """Figures of key-points at the chosen threshold, and of the order that T+E+R has: by the
        first head, of the first language that has one, and the widest search."""
        found = {}
        own = [row for row in rows if row["table"] == "keypoints" and row["delta"] == config.delta]
        for column, name, scale, _ in KEYPOINTS:
            values = {row["language"]: row["value"] for row in own if row["measure"] == column}
            found |= {name.format(lang): scale * value for lang, value in values.items()}
        own = [row for row in rows if row["table"] == "order" and row["search"]]
        own = [row for row in own if row["order"].split()[0] == config.order_list[0]]
        for column, name, scale, _ in ORDERS:
            for row in own:
                if row["measure"] == column and row["order"] == own[0]["order"]:
                    found[name] = scale * row["value"]
        return dict(sorted(found.items()))

    def draw(self, record: Record, shown: pandas.DataFrame) -> Figure:
        """A panel for every column but the times."""
        from fairseq_xling.results.charts import bars

        drawn = shown[~shown["column"].str.endswith("(s)")]
        title = lambda own: own["column"].iat[0]  # noqa: E731
        return bars(drawn, title, series="column", panel="column")

    def notes(self, record: Record, shown: pandas.DataFrame) -> Iterator[str]:
        config = record["config"]
        seeds = f"seeds {config['seeds']}" if "," in config["seeds"] else f"seed {config['seeds']}"
        for one in record["readings"]:
            yield f"{one['name']}: {one['title']}."
        yield (
            f"Mean ± standard deviation over {seeds}; a reading shares with the defaults what is "
            "trained before it differs."
        )
        yield (
            "D is that of validation text, the mean of both directions; relative: divided by the "
            "spread of the target's states, chance 1. E is the accuracy of key-points against "
            f"pseudo-gold pivots of validation text, where words with p above {config['delta']} "
            "are kept; entropy: the mean of p's, 1 is chance. BLEU-2: precision of pairs of words "
            "in the found order, of the language that is reordered."
        )
        yield from zero_shot_note(" of T, T+E and T+E+R", record)
        yield from changes(shown)


def changes(shown: pandas.DataFrame) -> Iterator[str]:
    """What each reading changes against the first row, the defaults, by seed; what is equal is
    shared, or has not moved."""
    compared = shown[shown["column"].str.endswith((" D", " (%)"))]
    defaults, *others = dict.fromkeys(compared["row"])
    for reading in others:
        sides = differences(compared, reading, defaults)
        changed = {name: both for name, both in sides.items() if both[0] != both[1]}
        if changed:
            yield f"{reading} against the defaults: {differences_in_words(changed)}."
