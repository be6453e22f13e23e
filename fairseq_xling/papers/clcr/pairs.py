"""How much parallel text CLCR needs: the same training on nested subsets of the sentence pairs.

The paper has 250,000 pairs, and reports that more bring nothing (CLCR, 4.3). Encoders, and the text
to validate and to tune the threshold on, are the same for every size.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairseq_xling.core.options import option, parse_numbers
from fairseq_xling.papers.clcr.comparison import (
    HARD,
    Comparison,
    TaskOptions,
    differences,
    table_section,
    zero_shot_note,
)
from fairseq_xling.papers.clcr.run import ClcrRun
from fairseq_xling.papers.trelm.data import keep_pairs
from fairseq_xling.reports.record import Chart, Section
from fairseq_xling.reports.rows import Row, distinct, select
from fairseq_xling.studies.ablations import STUDIES

_SUBSET_SEED = 1  # one order of the pairs for all sizes, so that subsets are nested


@dataclasses.dataclass(frozen=True)
class PairsOptions(TaskOptions):
    """One sentence of help per field."""

    sizes: str = option("", "numbers of sentence pairs to train on, e.g. 1000,4000,16000")

    @property
    def size_list(self) -> list[int]:
        return sorted(parse_numbers("--sizes", self.sizes, int))


@STUDIES.register("clcr-pairs")
class ClcrPairs(Comparison):
    """The same training on nested subsets of the sentence pairs."""

    name, options = "clcr-pairs", PairsOptions
    help = "distance, pivots, accuracy and time of CLCR by the number of sentence pairs"
    title, source = "CLCR by the number of sentence pairs", "CLCR, 4.3"
    lead = "The same training on nested subsets of the sentence pairs."

    def parts(self, run: ClcrRun, o: PairsOptions) -> Iterator[tuple[int, ClcrRun]]:
        for size in o.size_list:
            values = {"data": Path(o.data), "output": "{out}", "pair": o.languages, "count": size}
            values |= {"seed": _SUBSET_SEED, "option": "--sizes"}
            to = f"data/pairs-{size}"
            subset = run.function(f"subset-{size}", keep_pairs, values=values, to=to)
            yield size, run.row(f"pairs-{size}", data=str(subset))

    def sections(self, rows: Sequence[Row], options: PairsOptions) -> Iterator[Section]:
        many = len(options.seed_list) > 1
        notes = [
            f"{'Mean ± standard deviation over seeds' if many else 'Seed'} {options.seeds}. "
            "Subsets are nested; encoders, and the text to validate on, are the same in every row.",
            "D is that of validation text, the mean of both directions; hard: to each word's best "
            "partner alone; relative: divided by the spread of the target's states, chance 1.",
        ]
        if not options.threshold:
            notes.append(
                f"F1 of pseudo-gold pivots against the word alignment of {options.tune_on}, on "
                "which their threshold was tuned."
            )
        notes.append(
            "Seconds are the wall time of the trainings; T with its phases of the encoders."
        )
        yield table_section(rows, "pairs", [*notes, *zero_shot_note("", rows), *gains(rows)])
        columns = [name for name in distinct(rows, "column") if name]
        chart = Chart("curve", {"column": columns}, "line", "row", panel="panel", ylabel="{panel}")
        how = {"xlabel": "sentence pairs", "chance": "{chance is}", "log": "x"}
        yield Section("By size", chart=dataclasses.replace(chart, **how), name="plot")


def gains(rows: Sequence[Row]) -> Iterator[str]:
    """What the most pairs give over the fewest, by seed."""
    columns = [x for x in distinct(rows, "column") if x and x != HARD and not x.endswith(" (s)")]
    fewest, most = min(distinct(rows, "row")), max(distinct(rows, "row"))
    said = differences(select(rows, {"column": columns}), most, fewest)
    if fewest != most and said:
        yield f"From {fewest:,} to {most:,} pairs: {said}."
