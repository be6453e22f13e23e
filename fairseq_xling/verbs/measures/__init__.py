"""The measures of `fairseq-xling eval`: one file each, found by name.

A measure is a class with ``options``, a dataclass, and ``run(subject, options) -> Findings``. It
receives an encoder; it never imports fairseq. Its heavy imports belong inside ``run``: the options
of all measures are declared before any is run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairseq_xling.analysis.subject import Subject
from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError, about
from fairseq_xling.core.options import NoOptions
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.reports.pivot import Table, plain_table
from fairseq_xling.reports.record import Chart, Section, plain_chart

if TYPE_CHECKING:
    from fairseq_xling.data.mmap import TokenFile


@dataclasses.dataclass
class Findings:
    """The result of a measure.

    Attributes:
        title: heading of the printed table, with what was measured on what.
        rows: what was measured, see `fairseq_xling.reports.rows`: at least ``target``, ``measure``
            and ``value`` of each; where one layer is chosen, its rows have ``best``.
        table: how it is shown (default: `plain_table`); chart: likewise (default: `plain_chart`).
        notes: what a reader needs to interpret the figures.
    """

    title: str
    rows: list[dict[str, Any]]
    table: Table | None = None
    chart: Chart | None = None
    notes: Sequence[str] = ()

    def section(self, measure: str) -> Section:
        """Its table and its figure, of its rows among others; these are of the task ``measure``."""
        table, chart = self.table or plain_table(self.rows), self.chart or plain_chart(self.rows)
        of = {"task": measure}
        table = dataclasses.replace(table, where={**table.where, **of})
        chart = dataclasses.replace(chart, where={**chart.where, **of})
        return Section(self.title, table, chart, self.notes)


class Measure(Protocol):
    """One file in this folder, registered in ``MEASURES``."""

    options: type = NoOptions  # a dataclass of its own options (`fairseq_xling.core.options`)

    def run(self, subject: Subject, options: Any) -> Findings:
        """Measure."""


MEASURES: Registry[type[Measure]] = Registry(
    "measure", "fairseq_xling.verbs.measures", needs=("options", "run")
)


def by_layer(after: Mapping[str, str], *measures: str) -> Table:
    """A line for each pair and layer, with the columns ``after`` its figures."""
    where = {"measure": list(measures)}
    return Table({"pair": "{source}-{target}", "layer": "layer"}, where=where, after=after)


def curves(ylabel: str, *measures: str) -> Chart:
    """A panel for each measure by layer, a line for each checkpoint and pair."""
    return Chart(
        "curve",
        {"measure": list(measures)},
        row="{row}, {source}-{target}",
        ylabel=ylabel,
        xlabel="layer (0 = embedding output)",
        chance="chance",
    )


def parse_measures(text: str) -> list[str]:
    """Names of a comma-separated list, each checked.

    >>> parse_measures("retrieval,bpw")
    ['retrieval', 'bpw']
    """
    names = names_in(text)
    if not names:
        raise UserError(
            f"`--measure` must name at least one of {', '.join(MEASURES)}, got {text!r}"
        )
    for name in names:
        with about("`--measure`"):
            MEASURES.check(name)
        if names.count(name) > 1:
            raise UserError(f"`--measure` names {name!r} twice in {text!r}")
    return names


def masked_sentences(
    file: TokenFile, limit: int, seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The first ``limit`` sentences of a split (0: all), and the positions that are masked in
    each, which depend on ``seed`` alone."""
    from fairseq_xling.analysis.bpw import mask_positions

    sentences = [file[i] for i in range(min(len(file), limit or len(file)))]
    masks = []
    for index, sentence in enumerate(sentences):
        words = np.flatnonzero(sentence >= SPECIALS)
        masks.append(words[mask_positions(len(words), index, seed)])
    return sentences, masks
