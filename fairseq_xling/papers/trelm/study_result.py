"""The results of a study: a row per variation, the paper's figure next to ours."""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts
from fairseq_xling.papers.trelm.results import PAPER, read_artifacts
from fairseq_xling.papers.trelm.run_result import FAULTS, TASKS, bleu_table, signatures
from fairseq_xling.papers.trelm.study import Study, Variation
from fairseq_xling.results.charts import dots
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.frame import figures, make_frame, split
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.paired import Claim
from fairseq_xling.results.report import Section, claims_section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
BITS = "bits per word"
_DIGITS = {"bits": 3, "bleu": 2, "task": 2, "distance": 3}  # after the point
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
        "migrations": {
            row.code: [read_artifacts(config, one) for one in many] for row, many in artifacts
        },
    }
    claims = study.claims(rows)
    if claims:
        record["claims"] = [dataclasses.asdict(one) for one in claims]
    if study.axis:
        sizes = {row.code: study.size(row) for row in rows}
        record["axis"] = {"title": study.axis, "sizes": sizes}
    write_results(TrelmStudyKind, run, record, {}, steps)


@KINDS.register("trelm-study")
class TrelmStudyKind(Kind):
    """The table; its figures as dots, or as curves if the study has an axis."""

    name = "trelm-study"

    def page(self, result: Result) -> Page:
        record = result.record
        seeds, source, axis = record["config"]["seeds"], record["source"], record.get("axis", {})
        header, rows = study_table(record)
        notes = caption(result, source, seeds_in_words(seeds, "bands" if axis else "dots"))
        drawn = [
            Section(
                what[:1].upper() + what[1:],
                figure=partial(draw_measure, own, axis.get("title", "")),
                notes=notes,
            )
            for what, own in split(measurements(record), "measure")
        ]
        apart = too_many(record)
        if apart:
            of_dots = caption(result, source, seeds_in_words(seeds, "dots"))
            drawn.insert(0, decodings_section(record, of_dots))
        drawn[0] = dataclasses.replace(drawn[0], name="plot")
        changes = [
            (one["row"], one["name"], ", ".join(f"{k} = {v}" for k, v in one["changes"].items()))
            for one in record["variations"]
        ]
        about = [*record["notes"], *_notes(record)]
        about.append(f"{result.machine}.")
        about += [TASKS] if any(one.get("tasks") for one in migrations_of(record)) else []
        bits, first = header.index("tokens") + 1, rows[0]
        return Page(
            title=record["study"],
            source=source,
            lead=[record["lead"]],
            sections=[
                Section("Table", header=header, rows=rows, notes=about, name="table"),
                *filter(None, [study_claims(record)]),
                *drawn,
                *([] if apart else _translations(record)),
                Section(
                    "Settings of the rows",
                    text="Differences from the settings of the study.",
                    header=["row", "what it is", "changes"],
                    rows=changes,
                ),
            ],
            tables={"table": _long_table(record)},
            measured=[
                Measured(row, f"{header[bits]}, row {first[0]}", first[bits].mean)
                for row in record["spec_rows"]
            ],
        )


def measurements(record: Record) -> pandas.DataFrame:
    """What was measured of each migration: bits per word; BLEU by ordering, where these have
    columns; the figures of its tasks; distances of words. Older runs have neither of the last."""
    sizes, columns = record.get("axis", {}).get("sizes", {}), not too_many(record)

    def measured(one: Record) -> dict[str, Mapping[str, float]]:
        found = one["translation"]
        bleu = {f"BLEU {n}": found[n]["bleu"] for n in one["orderings"] if n in found}
        return {
            "bits": {BITS: one["phases"][-1]["bpw"][one["target"]]},
            "bleu": bleu if columns else {},
            "task": dict(one.get("tasks", ())),
            "distance": one.get("distances", {}),
        }

    return make_frame(
        {
            **{"row": code, "name": f"{code}: {variation['name']}", "size": sizes.get(code)},
            **{"target": one["target"], "seed": one["seed"], "kind": kind, "digits": digits},
            **{"measure": measure, "value": value},
        }
        for kind, digits in _DIGITS.items()
        for variation in record["variations"]
        for code in [variation["row"]]
        for one in record["migrations"][code]
        for measure, value in measured(one)[kind].items()
    )


def study_table(record: Record) -> Table:
    """Header and rows; differences are to the first row."""
    header = ["row", "", "parameters", "steps", "tokens"]
    rows = [
        [one["row"], one["name"], *_size(record["migrations"][one["row"]])]
        for one in record["variations"]
    ]
    frame = measurements(record)
    found = figures(frame, "measure", "target", "row")
    for target, measure, digits in _columns(frame):
        header.append(f"{measure}, {target}")
        cells = [OverSeeds.of(found.get((measure, target, row[0]), ()), digits) for row in rows]
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
        if measure == BITS and len(rows) > 1:
            header.append("Δ")
            for row, cell in zip(rows, cells, strict=True):
                row.append(OverSeeds((cell.mean - cells[0].mean,), digits, signed=True))
    if any(one["paper"] is not None for one in record["variations"]):
        header.append(f"paper: {BITS}")
        for row, one in zip(rows, record["variations"], strict=True):
            row.append(one["paper"])
    return header, rows


def _columns(frame: pandas.DataFrame) -> Iterator[tuple[str, str, int]]:
    """Target, measure and digits, of one target after another."""
    for target in dict.fromkeys(frame["target"]):
        for measure, own in split(frame, "measure"):
            yield target, measure, own["digits"].iat[0]


def study_claims(record: Record) -> Section | None:
    """What the paper says of the rows, by bits per word and by every task, over seeds."""
    frame = measurements(record)
    frame = frame[frame["kind"].isin(["bits", "task"])]
    found = {
        f"{measure}, {target}": {row: values for (row,), values in figures(rows, "row").items()}
        for measure, own in split(frame, "measure")
        for target, rows in split(own, "target")
    }
    bits = [name for name in found if name.startswith(BITS)]
    digits = {name: 3 if name in bits else 1 for name in found}
    claims = [Claim(**claim) for claim in record.get("claims", [])]
    return claims_section(claims, found, digits, record["config"]["seeds"], bits)


def _translations(record: Record) -> Iterator[Section]:
    """Every translation of every row, with where it falls short."""
    rows = []
    for code, many in record["migrations"].items():
        header, own = bleu_table(many)
        rows += [[code, *row] for row in own]
    if rows:
        notes = decodings_notes(record)
        yield Section("Translations", header=["row", *header], rows=rows, notes=notes)


def _size(many: Sequence[Record]) -> Iterator[int | None]:
    """Parameters of the last model, without the heads of others (None of one that is not trained),
    steps and tokens of all trainings; steps and tokens are the means over seeds and targets."""
    last = [one["cost"]["trainings"][-1] for one in many if one["cost"]["trainings"]]
    yield min((training["parameters"] for training in last), default=None)
    for name in ("steps", "tokens"):
        yield round(statistics.fmean(one["cost"]["sums"][name] for one in many))


def draw_measure(own: pandas.DataFrame, axis: str = "") -> Figure:
    """The dots of every row, or curves over what ``axis`` is called; a row without a figure has no
    line: most rows of a study do not translate."""
    measure, sized = own["measure"].iat[0], own[own["size"].notna()].sort_values("size")
    if not axis:
        return dots(own, measure, row="name", panel="target", title=lambda rows: rows.target.iat[0])
    lines = []
    for style, target in enumerate(dict.fromkeys(own["target"])):
        found = figures(sized[sized["target"] == target], "size")
        cells = [OverSeeds(tuple(values), 3) for values in found.values()]
        places, spread = [x for (x,) in found], [cell.spread or 0.0 for cell in cells]
        lines.append(Line(target, places, [cell.mean for cell in cells], style, spread=spread))
    return draw([Panel(lines, xlabel=axis, ylabel=measure, log_x=True)])


def _long_table(record: Record) -> Table:
    paper = {one["row"]: one["paper"] for one in record["variations"]}
    return ["row", "target", "seed", "phase", "steps", BITS, "paper"], [
        [
            *(code, one["target"], one["seed"], phase["phase"], phase["steps"]),
            *(phase["bpw"][one["target"]], paper[code]),
        ]
        for code in paper
        for one in record["migrations"][code]
        for phase in one["phases"]
    ]


def _notes(record: Record) -> list[str]:
    first = record["variations"][0]["row"]
    uniform = {one["target"]: one["uniform_bpw"] for one in record["migrations"][first]}
    chance = ", ".join(f"{found[lang]:.2f} ({lang})" for lang, found in uniform.items())
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
        figure=_decodings_figure([dict(zip(header, row, strict=True)) for row in rows]),
        header=header,
        rows=rows,
        notes=[*notes, *decodings_notes(record)],
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
