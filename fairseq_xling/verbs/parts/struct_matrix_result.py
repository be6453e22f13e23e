"""`fairseq-xling struct matrix`: relations or roles, by training set and language."""

import statistics
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS
from fairseq_xling.verbs.parts import struct_matrix_paired as matrix_paired
from fairseq_xling.verbs.parts.struct_matrix_paired import model_name, models_of
from fairseq_xling.verbs.parts.struct_matrix_table import (
    LONG,
    column_names,
    figures,
    heat,
    long_rows,
)

SOURCE = "transfer note, 3"
_PAIRED = "Points of micro F1, model less what it is compared with; paired t-test over seeds."


@KINDS.register("structures")
class Structures:
    """A heat map for each network, and the table."""

    def recognises(self, record: Mapping[str, Any]) -> bool:
        return {"structures", "sources", "languages", "header", "rows"} <= record.keys()

    def page(self, result: Result) -> Page:
        record = result.record
        header, rows = record["header"], record["rows"]
        seeds = sorted({one["seed"] for one in record["structures"]})
        facts = ("Micro F1 without NONE.", seeds_in_words(seeds, ""))
        notes = caption(result, SOURCE, *facts)
        names = dict(zip(record["languages"], column_names(record["languages"]), strict=True))
        pairs = matrix_paired.table(record.get("paired", []), names)
        sections = [Section("Table", header=header, rows=rows, notes=record["notes"])]
        tables = {"table": (header, rows), "scores": (LONG, list(long_rows(record)))}
        if pairs:  # runs before there was `--compare` have none
            sections.append(
                Section("Differences", header=matrix_paired.HEADER, rows=pairs, notes=[_PAIRED])
            )
            tables["paired"] = (matrix_paired.HEADER, pairs)
        return Page(
            title=record["title"],
            source=SOURCE,
            lead=[
                "Pairs of mentions were classified on the dependency tree of their sentence. Rows "
                "are what was trained on, columns what was tested on; the diagonal is supervised.",
            ],
            sections=[
                *(
                    Section(model_name(*model), figure=partial(heat, record, model), notes=notes)
                    for model in models_of(record["structures"])
                    if not model[1]
                ),
                *sections,
            ],
            tables=tables,
            measured=list(_measured(record)),
        )


def _measured(record: Mapping[str, Any]) -> Iterator[Measured]:
    """Of the first model, the F1 of every training set in every language."""
    model = models_of(record["structures"])[0]
    for row in record["sources"]:
        for file, lang in record["languages"].items():
            value = statistics.fmean(figures(record, model, row, file))
            what = f"F1 (%) in {lang}, trained on {row}, {model_name(*model)}"
            yield Measured("E13", what, value)
