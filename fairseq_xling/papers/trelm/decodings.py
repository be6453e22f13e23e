"""The ways to translate of a study's rows, if they are too many for columns of its table.

A translator is read in one pass, by searches, with an n-gram model, and rescored by another model:
a line each, with where it falls short, next to the autoregressive model that it is to replace.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fairseq_xling.papers.trelm.translation_result import FAULTS, bleu_table, signatures
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import DotPanel, draw_dots
from fairseq_xling.results.page import Table
from fairseq_xling.results.report import Section

_COLUMNS = 4  # of a study's table: the three orderings, and an autoregressive model
_SCORES = ("BLEU", "chrF", "length ratio", "words", "order", "repeated")
_SHOWN = ("target", "seeds", "ordering", *_SCORES)
Record = Mapping[str, Any]


def migrations_of(record: Record) -> list[Record]:
    """The migrations of all rows."""
    return [one for row in record["variations"] for one in record["migrations"][row["row"]]]


def too_many(record: Record) -> bool:
    """Whether some row translates in more ways than a table has columns for."""
    return any(len(one["orderings"]) > _COLUMNS for one in migrations_of(record))


def decodings_table(record: Record) -> Table:
    """A line for each way to translate; those with the same figures in several rows, such as the
    orderings of a migration that they share, are one."""
    rows: dict[tuple[Any, ...], list[str]] = {}
    for code, many in record["migrations"].items():
        header, own = bleu_table(many)
        for row in own:
            found = dict(zip(header, row, strict=True))
            rows.setdefault(tuple(found[name] for name in _SHOWN), []).append(code)
    everywhere = len(record["migrations"])
    return ["row", "target", "seeds", "translation", *_SCORES], [
        ["all" if len(codes) == everywhere > 1 else ", ".join(codes), *shown]
        for shown, codes in rows.items()
    ]


def decodings_notes(record: Record) -> list[str]:
    """What the columns are, and sacrebleu's signatures."""
    return [FAULTS, f"sacrebleu {'; '.join(signatures(migrations_of(record)))}"]


def decodings_section(record: Record, notes: Sequence[str]) -> Section:
    """The table, under BLEU of every seed as dots; ``notes`` are of the figure."""
    header, rows = decodings_table(record)
    return Section(
        "Translations",
        figure=_drawing([dict(zip(header, row, strict=True)) for row in rows]),
        header=header,
        rows=rows,
        notes=[*notes, *decodings_notes(record)],
    )


def _drawing(lines: Sequence[Mapping[str, Any]]) -> Drawing:
    alone = len({line["row"] for line in lines}) == 1
    called = [("" if alone else f"{line['row']}: ") + line["translation"] for line in lines]
    names = list(dict.fromkeys(called))
    panels = []
    for target in dict.fromkeys(line["target"] for line in lines):
        bleu = {
            name: line["BLEU"].values
            for name, line in zip(called, lines, strict=True)
            if line["target"] == target and line["BLEU"] is not None
        }
        panels.append(DotPanel(names, [bleu.get(name, ()) for name in names], "BLEU", target))
    return partial(draw_dots, panels)
