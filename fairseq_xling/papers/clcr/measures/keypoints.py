"""Measure how well key-points are found: accuracy, precision and recall by language.

  fairseq-xling clcr measure keypoints extract/checkpoint_last.pt --labels labels --split valid

Words with p(key-point) > delta are kept as key-points and compared with the pseudo-gold pivots of
`fairseq-xling clcr label`. Figures are in [0, 1].
"""

import dataclasses
from pathlib import Path

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.papers.clcr.measures import BatchOptions, Labelled, LabelledOptions
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Chart, Record, Section
from fairseq_xling.verbs.parts.output import OutputOptions

STUDY = "clcr-keypoints"
SHARES = ("accuracy", "precision", "recall")


@dataclasses.dataclass(frozen=True)
class _Thresholds(LabelledOptions):
    delta: str = option("0.2,0.5", "thresholds of p(key-point)", metavar="P,P")


@dataclasses.dataclass(frozen=True)
class Options(OutputOptions, BatchOptions, _Thresholds):
    """The model and its labels, thresholds, and the files of the results."""


def measure(options: Options) -> tuple[Record, dict[str, Path]]:
    from fairseq_xling.papers.clcr.evaluation import count_keypoints
    from fairseq_xling.papers.clcr.modules.extract import measured

    deltas = parse_deltas(options.delta)
    of = Labelled(options, "extract")
    counts, doubt = count_keypoints(of.model, of.sides, of.order, deltas, options.max_tokens)
    own = {"study": STUDY}
    rows = [
        {"paper": "clcr", **own, "target": lang, "delta": delta, "measure": name, "value": value}
        for (lang, delta), found in counts.items()
        for name, value in measured(found, doubt[lang]).items()
    ]
    notes = [
        f"words of {of.split}, against the {of.labels.kind} of {of.labels.path}",
        "entropy: mean of p(key-point), in bits, 1 is chance; ambiguous: share of words with "
        ".2 < p < .8",
    ]
    bars = Chart("bars", {**own, "measure": SHARES}, "{target}, delta {delta}", series="measure")
    bars = dataclasses.replace(bars, panel="", ylabel="share of words")
    named = {"language": "target", "delta": "delta"}
    table = Table(named, where=own, digits={"key-points": 0, "tokens": 0})
    title = f"Key-points, {of.pair}"
    record = Record(
        title,
        rows,
        (Section(title, table, bars, notes, name="table", source="CLCR, Table 2"),),
        source="CLCR, 3.2 and Table 2",
        lead=["How accurately words of a sentence are classified as key-points."],
    )
    return record, of.files


def parse_deltas(text: str) -> list[float]:
    """Thresholds separated by commas.

    >>> parse_deltas("0.2, 0.5")
    [0.2, 0.5]
    """
    found = []
    for piece in names_in(text):
        try:
            found.append(float(piece))
        except ValueError:
            found.append(-1.0)
    if not found or not all(0 <= delta <= 1 for delta in found):
        raise UserError(f"`--delta` must be numbers in [0, 1], got {text!r}")
    if len({*found}) < len(found):
        raise UserError(f"`--delta` must be different numbers, got {text!r}")
    return found
