"""The results of a study: a row per variation, the paper's figure next to ours."""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts
from fairseq_xling.papers.trelm.results import (
    BITS,
    PAPER,
    each,
    last_bits,
    measure,
    part,
    target_bits,
    totals,
)
from fairseq_xling.papers.trelm.run_result import FAULTS, TASKS, bleu_table, signatures
from fairseq_xling.papers.trelm.study import Study, Variation
from fairseq_xling.results.charts import dots
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.frame import figures, listed, make_frame, split
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.paired import RowClaim
from fairseq_xling.results.report import Section, claims_section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
_DIGITS = {"bits": 3, "translation": 2, "task": 2, "distance": 3}  # after the point
_COLUMNS = 4  # of a study's table: the three orderings, and an autoregressive model
_SCORES = ("BLEU", "chrF", "length ratio", "words", "order", "repeated")
_SHOWN = ("target", "seeds", "ordering", *_SCORES)
Record = Mapping[str, Any]


def write_study(
    study: Study,
    run: Path,
    config: TrelmConfig,
    artifacts: Sequence[tuple[Variation, list[Artifacts]]],
    steps: Sequence[Step],
) -> None:
    """Write `FILES` into ``run``."""
    rows = [row for row, _ in artifacts]
    every = ((row.code, one) for row, many in artifacts for one in many)
    frame, migrations = measure(config, every, study.title)
    record = {
        "study": study.title,
        "source": f"{PAPER}, {study.help.rpartition('TreLM, ')[2]}",
        "lead": study.lead,
        "notes": study.notes,
        "spec_rows": study.spec_rows,
        "config": dataclasses.asdict(config),
        "variations": [
            {"row": row.code, "name": row.name, "changes": dict(row.changes), "paper": row.paper}
            for row in rows
        ],
        "migrations": migrations,
    }
    claims = study.claims(rows)
    if claims:
        record["claims"] = [dataclasses.asdict(one) for one in claims]
    if study.axis:
        sizes = {row.code: study.size(row) for row in rows}
        record["axis"] = {"title": study.axis, "sizes": sizes}
    write_results(TrelmStudyKind, run, record, {}, steps, frame)


@KINDS.register("trelm-study")
class TrelmStudyKind(Kind):
    """The table; its figures as dots, or as curves if the study has an axis."""

    name = "trelm-study"

    def page(self, result: Result) -> Page:
        record, frame = result.record, result.frame
        seeds, source, axis = record["config"]["seeds"], record["source"], record.get("axis", {})
        header, rows = study_table(record, frame)
        notes = caption(result, source, seeds_in_words(seeds, "bands" if axis else "dots"))
        drawn = [
            Section(
                what[:1].upper() + what[1:],
                figure=partial(draw_measure, own, axis.get("title", "")),
                notes=notes,
            )
            for what, own in split(shown_figures(record, frame), "measure")
        ]
        apart = too_many(frame)
        if apart:
            of_dots = caption(result, source, seeds_in_words(seeds, "dots"))
            drawn.insert(0, decodings_section(frame, of_dots))
        drawn[0] = dataclasses.replace(drawn[0], name="plot")
        changes = [
            (one["row"], one["name"], ", ".join(f"{k} = {v}" for k, v in one["changes"].items()))
            for one in record["variations"]
        ]
        about = [*record["notes"], *_notes(record, frame)]
        about.append(f"{result.machine}.")
        about += [] if part(frame, "task").empty else [TASKS]
        bits, first = header.index("tokens") + 1, rows[0]
        paper = {one["row"]: one["paper"] for one in record["variations"]}
        columns = {name: name for name in ("row", "target", "seed", "phase", "steps")}
        of, phases = listed(target_bits(frame), {**columns, BITS: "value"})
        return Page(
            title=record["study"],
            source=source,
            lead=[record["lead"]],
            sections=[
                Section("Table", header=header, rows=rows, notes=about, name="table"),
                *filter(None, [study_claims(record, frame)]),
                *drawn,
                *([] if apart else _translations(frame)),
                Section(
                    "Settings of the rows",
                    text="Differences from the settings of the study.",
                    header=["row", "what it is", "changes"],
                    rows=changes,
                ),
            ],
            tables={"table": ([*of, "paper"], [[*row, paper[row[0]]] for row in phases])},
            measured=[
                Measured(row, f"{header[bits]}, row {first[0]}", first[bits].mean)
                for row in record["spec_rows"]
            ],
        )


def shown_figures(record: Record, frame: pandas.DataFrame) -> pandas.DataFrame:
    """The figures of each migration that tables and figures show: bits per word at the end; BLEU by
    ordering, where these have columns; those of its tasks; distances of words."""
    bleu = frame[frame["measure"] == "BLEU"]
    bleu = bleu.assign(measure="BLEU " + bleu["ordering"])
    found = {kind: part(frame, kind) for kind in _DIGITS}
    found |= {"bits": last_bits(frame), "translation": bleu[:0] if too_many(frame) else bleu}
    shown = pandas.concat(own.assign(digits=_DIGITS[kind]) for kind, own in found.items())
    names = {one["row"]: f"{one['row']}: {one['name']}" for one in record["variations"]}
    sizes = record.get("axis", {}).get("sizes", {})
    return shown.assign(name=shown["row"].map(names), size=shown["row"].map(sizes))


def study_table(record: Record, frame: pandas.DataFrame) -> Table:
    """Header and rows; differences are to the first row."""
    header = ["row", "", "parameters", "steps", "tokens"]
    rows = [
        [one["row"], one["name"], *_size(frame[frame["row"] == one["row"]])]
        for one in record["variations"]
    ]
    shown = shown_figures(record, frame)
    found = figures(shown, "measure", "target", "row")
    digits = dict(zip(shown["measure"], shown["digits"], strict=True))
    for target, name in itertools.product(dict.fromkeys(shown["target"]), digits):
        header.append(f"{name}, {target}")
        cells = [OverSeeds.of(found.get((name, target, row[0]), ()), digits[name]) for row in rows]
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
        if name == BITS and len(rows) > 1:
            header.append("Δ")
            for row, cell in zip(rows, cells, strict=True):
                row.append(OverSeeds((cell.mean - cells[0].mean,), digits[name], signed=True))
    if any(one["paper"] is not None for one in record["variations"]):
        header.append(f"paper: {BITS}")
        for row, one in zip(rows, record["variations"], strict=True):
            row.append(one["paper"])
    return header, rows


def study_claims(record: Record, frame: pandas.DataFrame) -> Section | None:
    """What the paper says of the rows, by bits per word and by every task, over seeds."""
    compared = pandas.concat([last_bits(frame), part(frame, "task")])
    found = {
        f"{name}, {target}": {row: values for (row,), values in figures(rows, "row").items()}
        for name, own in split(compared, "measure")
        for target, rows in split(own, "target")
    }
    bits = [name for name in found if name.startswith(BITS)]
    digits = {name: 3 if name in bits else 1 for name in found}
    claims = [RowClaim(**claim) for claim in record.get("claims", [])]
    return claims_section(claims, found, digits, record["config"]["seeds"], bits)


def _translations(frame: pandas.DataFrame) -> Iterator[Section]:
    """Every translation of every row, with where it falls short."""
    header, rows = _scores_by_row(frame)
    if rows:
        notes = decodings_notes(frame)
        yield Section("Translations", header=["row", *header], rows=rows, notes=notes)


def _scores_by_row(frame: pandas.DataFrame) -> Table:
    found, header = part(frame, "translation").sort_values("row", kind="stable"), []
    rows = []
    for code, own in split(found, "row"):
        header, scores = bleu_table(own)
        rows += [[code, *row] for row in scores]
    return header, rows


def _size(own: pandas.DataFrame) -> Iterator[int | None]:
    """Parameters of the last model, without the heads of others (None of one that is not trained),
    steps and tokens of all trainings; steps and tokens are the means over seeds and targets."""
    sizes = own[own["measure"] == "parameters"].drop_duplicates(["target", "seed"], keep="last")
    yield min(sizes["value"], default=None)
    every = [totals(one) for _, one in each(own)]
    for name in ("steps", "tokens"):
        yield round(statistics.fmean(one[name] for one in every))


def draw_measure(own: pandas.DataFrame, axis: str = "") -> Figure:
    """The dots of every row, or curves over what ``axis`` is called; a row without a figure has no
    line: most rows of a study do not translate."""
    what, sized = own["measure"].iat[0], own[own["size"].notna()].sort_values("size")
    if not axis:
        return dots(own, what, row="name", panel="target", title=lambda rows: rows.target.iat[0])
    lines = []
    for style, target in enumerate(dict.fromkeys(own["target"])):
        found = figures(sized[sized["target"] == target], "size")
        cells = [OverSeeds(tuple(values), 3) for values in found.values()]
        places, spread = [x for (x,) in found], [cell.spread or 0.0 for cell in cells]
        lines.append(Line(target, places, [cell.mean for cell in cells], style, spread=spread))
    return draw([Panel(lines, xlabel=axis, ylabel=what, log_x=True)])


def _notes(record: Record, frame: pandas.DataFrame) -> list[str]:
    first = record["variations"][0]["row"]
    bits = last_bits(frame[frame["row"] == first])
    uniform = dict(zip(bits["target"], bits["chance"], strict=True))
    chance = ", ".join(f"{value:.2f} ({lang})" for lang, value in uniform.items())
    config = record["config"]
    many = "," in config["seeds"]
    seeds = f"{'mean ± standard deviation over seeds' if many else 'seed'} {config['seeds']}"
    change = f" Δ is the difference to {first}." if len(record["variations"]) > 1 else ""
    notes = [
        f"Bits per word of masked words of the {config['bpw_split']} text, with the same masks for "
        f"every row; {seeds}.{change} Chance: {chance}.",
    ]
    if any(one["paper"] is not None for one in record["variations"]):
        notes.append(
            "The paper's figures are from models and texts thousands of times larger; they are "
            "shown only for the order of the rows."
        )
    return notes


def too_many(frame: pandas.DataFrame) -> bool:
    """Whether some row translates in more ways than a table has columns for."""
    ways = part(frame, "translation").groupby(["row", "target", "seed"])["ordering"].nunique()
    return max(ways, default=0) > _COLUMNS


def decodings_table(frame: pandas.DataFrame) -> Table:
    """A line for each way to translate; those with the same figures in several rows, such as the
    orderings of a migration that they share, are one."""
    rows: dict[tuple[Any, ...], list[str]] = {}
    header, scores = _scores_by_row(frame)
    for code, *row in scores:
        found = dict(zip(header, row, strict=True))
        rows.setdefault(tuple(found[name] for name in _SHOWN), []).append(code)
    everywhere = frame["row"].nunique()
    return ["row", "target", "seeds", "translation", *_SCORES], [
        ["all" if len(codes) == everywhere > 1 else ", ".join(codes), *shown]
        for shown, codes in rows.items()
    ]


def decodings_notes(frame: pandas.DataFrame) -> list[str]:
    """What the columns are, and sacrebleu's signatures."""
    return [FAULTS, f"sacrebleu {'; '.join(signatures(frame))}"]


def decodings_section(frame: pandas.DataFrame, notes: Sequence[str]) -> Section:
    """The table, under BLEU of every seed as dots; ``notes`` are of the figure."""
    header, rows = decodings_table(frame)
    return Section(
        "Translations",
        figure=_decodings_figure([dict(zip(header, row, strict=True)) for row in rows]),
        header=header,
        rows=rows,
        notes=[*notes, *decodings_notes(frame)],
    )


def _decodings_figure(lines: Sequence[Mapping[str, Any]]) -> Drawing:
    alone = len({line["row"] for line in lines}) == 1
    frame = make_frame(
        {
            "row": ("" if alone else f"{line['row']}: ") + line["translation"],
            **{"target": line["target"], "seed": seed, "value": value},
        }
        for line in lines
        for seed, value in enumerate(line["BLEU"].values if line["BLEU"] else [None])
    )
    return partial(dots, frame, "BLEU", panel="target", title=lambda rows: rows.target.iat[0])
