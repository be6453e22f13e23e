"""`clcr-pairs`: the same training on nested subsets of the sentence pairs.

The paper has 250,000 pairs, and reports that more bring nothing (CLCR, 4.3). Encoders, and the text
to validate and to tune the threshold on, are the same for every size.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_xling.options import option, parse_numbers
from fairseq_xling.papers.clcr.config import ClcrRunConfig
from fairseq_xling.papers.clcr.study import (
    DISTANCE,
    F1,
    HARD,
    MODULES,
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

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from fairseq_xling.papers.clcr.plan import Plan

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
