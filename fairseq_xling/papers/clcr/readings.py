"""What CLCR leaves open: Sections 3.1 to 3.3 and its attention, read in other ways.

Each reading shares with the defaults what is trained before it differs.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.papers.clcr.comparison import (
    Comparison,
    TaskOptions,
    differences,
    table_section,
    zero_shot_note,
)
from fairseq_xling.papers.clcr.measures import keypoints, order
from fairseq_xling.papers.clcr.run import ClcrRun
from fairseq_xling.reports.record import Chart, Section
from fairseq_xling.reports.rows import GIVEN, Row, distinct, select
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.workflow.recipe import Cell

# Of the table of key-points: the column of the page by measure, and its unit.
KEYPOINTS = {"accuracy": ("E, {} (%)", 100.0), "entropy": ("entropy of E, {} (bits)", 1.0)}
ORDER = "order BLEU-2"


@dataclasses.dataclass(frozen=True)
class Reading:
    """Another reading of one point.

    Attributes:
        changes: options of `clcr run`; needs: one without which they change nothing.
    """

    title: str
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    needs: str = "data"


DEFAULTS = "defaults"
READINGS = {
    DEFAULTS: Reading("settings of the configuration"),
    "transformed": Reading(
        "attention by dot products of transformed states", {"attention_score": "transformed"}
    ),
    "lm-phases": Reading(
        "attention annealed in the phases of the encoders alone (Figure 1)",
        {"anneal_phases": "lm1,lm2"},
        needs="anneal_beta",
    ),
    "finetune": Reading(
        "key-points by fine-tuned copies of the encoders (Table 2)",
        {"extract_encoder": "finetune"},
        needs="extract_steps",
    ),
    "second": Reading(
        "the second language is put into the order of the first",
        {"order_sides": "second"},
        needs="order_list",
    ),
}
_OTHERS = [name for name in READINGS if name != DEFAULTS]


@dataclasses.dataclass(frozen=True)
class ReadingsOptions(TaskOptions):
    """One sentence of help per field."""

    readings: str = option(
        "", f"readings to compare with the defaults, of {', '.join(_OTHERS)} (default: all)"
    )

    @property
    def reading_list(self) -> list[str]:
        """The chosen ones, after the defaults; without a choice, those that change something."""
        changing = [
            name
            for name in _OTHERS
            if getattr(self, READINGS[name].needs)
            and any(getattr(self, x) != value for x, value in READINGS[name].changes.items())
        ]
        names = names_in(self.readings) or changing
        for name in names:
            if name not in _OTHERS:
                raise unknown_name("reading", name, _OTHERS)
            if names.count(name) > 1:
                raise UserError(f"`--readings` must name {name!r} once")
            if name not in changing:
                raise UserError(f"`--readings` {name!r} changes nothing that is trained here")
        return [DEFAULTS, *names]


@STUDIES.register("clcr-readings")
class ClcrReadings(Comparison):
    """One row for each other reading; the first has the settings of the configuration."""

    name, options = "clcr-readings", ReadingsOptions
    help = "what CLCR leaves open: attention, annealed phases, encoder of key-points, order"
    title, source = "Readings of what CLCR leaves open", "CLCR, Sections 3.1 to 3.3"
    lead = "The same training, with one point read in another way."
    measures = (*Comparison.measures, "table")

    def parts(self, run: ClcrRun, o: ReadingsOptions) -> Iterator[tuple[str, ClcrRun]]:
        for name in o.reading_list:
            yield name, run.row(name, **READINGS[name].changes)

    def further(self, rows: Sequence[Row], cell: Cell) -> Iterator[Row]:
        """Figures of key-points at the chosen threshold, and of the order that T+E+R has: by the
        first head, of the first language that has one, and the widest search."""
        for lang in cell.options.languages:
            of = {"study": keypoints.STUDY, "delta": cell.options.delta, "target": lang}
            for row in select(rows, {**of, "measure": [*KEYPOINTS], "value": GIVEN}):
                name, scale = KEYPOINTS[row["measure"]]
                about = {"target": lang, "measure": name.format(lang), "column": name.format(lang)}
                yield {**about, "value": scale * row["value"]}
        own = select(rows, {"study": order.STUDY, "measure": "BLEU-2", "value": GIVEN})
        heads = cell.options.order_list[:1]
        own = [row for row in own if row["search"] and row["order"].split()[:1] == heads]
        if own:
            value = select(own, {"order": own[0]["order"]})[-1]["value"]
            yield {"measure": ORDER, "column": ORDER, "value": value}

    def sections(self, rows: Sequence[Row], options: ReadingsOptions) -> Iterator[Section]:
        seeds = f"{'seeds' if len(options.seed_list) > 1 else 'seed'} {options.seeds}"
        notes = [
            *(f"{name}: {READINGS[name].title}." for name in distinct(rows, "row")),
            f"Mean ± standard deviation over {seeds}; a reading shares with the defaults what is "
            "trained before it differs.",
            "D is that of validation text, the mean of both directions; relative: divided by the "
            "spread of the target's states, chance 1. E is the accuracy of key-points against "
            f"pseudo-gold pivots of validation text, where words with p above {options.delta} are "
            "kept; entropy: the mean of p's, 1 is chance. BLEU-2: precision of pairs of words in "
            "the found order, of the language that is reordered.",
            *zero_shot_note(" of T, T+E and T+E+R", rows),
            *changes(rows),
        ]
        yield table_section(rows, "reading", notes)
        drawn = [x for x in distinct(rows, "column") if x and not x.endswith(" (s)")]
        chart = Chart("bars", {"column": drawn}, panel="column", ylabel="{column}")
        yield Section("By reading", chart=chart, name="plot")


def changes(rows: Sequence[Row]) -> Iterator[str]:
    """What each reading changes against the first row, the defaults, by seed; what is equal is
    shared, or has not moved."""
    columns = [name for name in distinct(rows, "column") if name and name.endswith((" D", " (%)"))]
    compared = select(rows, {"column": columns})
    names = distinct(compared, "row")
    for reading in names[1:]:
        if said := differences(compared, reading, names[0], equal=False):
            yield f"{reading} against the defaults: {said}."
