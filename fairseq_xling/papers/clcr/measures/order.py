"""Measure how well key-points are ordered: order BLEU of each trained head and search.

  fairseq-xling clcr measure order order/checkpoint_last.pt --labels labels --split valid
  fairseq-xling clcr measure order model.pt --labels labels --searches beam:50,hungarian

Key-points are the pivots of LABELS (`fairseq-xling clcr label`); the gold order is that of their
partners. All order heads of the checkpoint are measured (`--order rel` and `abs`, and `--order-side
first` and `second` of fairseq-train), each with the searches that it supports, next to the order of
the source.
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

STUDY = "clcr-order"


@dataclasses.dataclass(frozen=True)
class _Searches(LabelledOptions):
    searches: str = option(
        "beam:1,beam:10,hungarian,local",
        "searches for an order from a head's scores; :N is the beam width, and :N:COST the cost of "
        "a pair in the wrong order or, for abs, of a position: probability or likelihood (the "
        "default); for rel also sign, the paper's",
        metavar="NAMES",
    )


@dataclasses.dataclass(frozen=True)
class Options(OutputOptions, BatchOptions, _Searches):
    """The model and its labels, searches, and the files of the results."""


def measure(options: Options) -> tuple[Record, dict[str, Path]]:
    from fairseq_xling.papers.clcr.evaluation import evaluate_orders, plan_orders

    searches = parse_searches(options.searches)
    of = Labelled(options)
    measured = plan_orders(of.model, searches)
    sentences, points = evaluate_orders(of.model, of.sides, of.order, measured, options.max_tokens)
    if not sentences:
        raise UserError(
            f"{of.labels.path}: no sentence has two pivots to order; label with a higher threshold"
        )
    first, second = of.model.pair
    own = {"study": STUDY}
    about = {"paper": "clcr", **own, "source": first, "target": second}
    rows = [{**about, **row} for one in measured for row in one.rows(sentences)]
    notes = [
        f"{sentences:,} sentences of {of.split} with {points:,} key-points, of "
        f"{len(of.order):,}; the others have fewer than two",
        f"key-points are the {of.labels.kind} of {of.labels.path}",
        "pairs right: individual decisions of the classifier, for abs its positions; BLEU-n: "
        "precision of n-grams; cumulative: geometric mean up to n",
    ]
    if back := next((one.direction for one in measured if one.side), ""):
        notes.append(f"{back}: key-points of {second} put into the order of {first}")
    bleu = {**own, "measure": [f"BLEU-{n}" for n in (2, 3, 4)]}
    bars = Chart("bars", bleu, "{order} {search}", series="measure", panel="")
    bars = dataclasses.replace(bars, ylabel="precision of n-grams (share)")
    named = {"order": "order", "search": "search"}
    table = Table(named, where=own, digits={"sentences/s": 0})
    title = f"Order BLEU, {of.pair}"
    record = Record(
        title,
        rows,
        (Section(title, table, bars, notes, name="table", source="CLCR, Table 3"),),
        source="CLCR, 3.3 and Table 3",
        lead=[
            "Key-points are put into the order of the second language, and compared with the gold "
            "order."
        ],
    )
    return record, of.files


def parse_searches(text: str) -> list[tuple[str, int, str]]:
    """Names with the beam width and the cost of disagreements (default: 0 and '').

    >>> parse_searches("beam:1, local, beam:10:sign")
    [('beam', 1, ''), ('local', 0, ''), ('beam', 10, 'sign')]
    """
    found = []
    for piece in names_in(text):
        name, colon, rest = piece.partition(":")
        width, _, weigh = rest.partition(":")
        if colon and not (width.isdecimal() and int(width)):
            raise UserError(f"`--searches` must have a width of at least 1, got {piece!r}")
        found.append((name, int(width) if colon else 0, weigh))
    if not found:
        raise UserError("`--searches` must name one, got none")
    return found
