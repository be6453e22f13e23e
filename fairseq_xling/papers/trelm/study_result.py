"""The results of a study: a row per variation, the paper's figure next to ours."""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.plan import Artifacts
from fairseq_xling.papers.trelm.results import PAPER, read_artifacts
from fairseq_xling.papers.trelm.run_result import FAULTS, TASKS, bleu_table, signatures
from fairseq_xling.papers.trelm.study import Study, Variation
from fairseq_xling.results.figure_file import Drawing
from fairseq_xling.results.figures import DotPanel, Line, Panel, draw, draw_dots
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.paired import Claim
from fairseq_xling.results.report import Section, claims_section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.runs.step import Step

FILES = ("table.md", "table.csv", "results.json", "plot.svg", "report.html")
BITS = "bits per word"
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
        seeds, source = record["config"]["seeds"], record["source"]
        header, rows = study_table(record)
        notes = caption(
            result, source, seeds_in_words(seeds, "bands" if "axis" in record else "dots")
        )
        figures = [
            Section(what[:1].upper() + what[1:], figure=_draw(record, what, found), notes=notes)
            for what, found in _figures(record).items()
        ]
        apart = too_many(record)
        if apart:
            dots = caption(result, source, seeds_in_words(seeds, "dots"))
            figures.insert(0, decodings_section(record, dots))
        figures[0] = dataclasses.replace(figures[0], name="plot")
        changes = [
            (one["row"], one["name"], ", ".join(f"{k} = {v}" for k, v in one["changes"].items()))
            for one in record["variations"]
        ]
        about = [*record["notes"], *_notes(record)]
        about.append(f"{result.machine}.")
        about += [TASKS] if any(one.get("tasks") for one in migrations_of(record)) else []
        (target, bits), *_ = _figures(record)[BITS].items()
        return Page(
            title=record["study"],
            source=source,
            lead=[record["lead"]],
            sections=[
                Section("Table", header=header, rows=rows, notes=about, name="table"),
                *filter(None, [study_claims(record)]),
                *figures,
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
                Measured(row, f"{BITS}, {target}, row {rows[0][0]}", bits[0].mean)
                for row in record["spec_rows"]
            ],
        )


def study_table(record: Record) -> Table:
    """Header and rows; differences are to the first row."""
    header = ["row", "", "parameters", "steps", "tokens"]
    rows = [
        [one["row"], one["name"], *_size(record["migrations"][one["row"]])]
        for one in record["variations"]
    ]
    found = _figures(record)
    several = len(rows) > 1
    for target, cells in found[BITS].items():
        header += [f"{BITS}, {target}", *(["Δ"] if several else [])]
        header += [f"{what}, {target}" for what in found if what != BITS]
        for place, row in enumerate(rows):
            change = OverSeeds((cells[place].mean - cells[0].mean,), 3, signed=True)
            row += [cells[place], *([change] if several else [])]
            row += [found[what][target][place] for what in found if what != BITS]
    if _has_papers(record):
        header.append(f"paper: {BITS}")
        for row, one in zip(rows, record["variations"], strict=True):
            row.append(one["paper"])
    return header, rows


def study_claims(record: Record) -> Section | None:
    """What the paper says of the rows, by bits per word and by every task, over seeds."""
    codes, titles = [one["row"] for one in record["variations"]], _task_titles(record)
    measures, digits, bits = {}, {}, []
    for what, by_target in _figures(record).items():
        for target, cells in by_target.items() if what in (BITS, *titles) else ():
            name = f"{what}, {target}"
            measures[name] = {
                code: cell.values for code, cell in zip(codes, cells, strict=True) if cell
            }
            digits[name] = 3 if what == BITS else 1
            bits += [name] if what == BITS else []
    claims = [Claim(**claim) for claim in record.get("claims", [])]
    return claims_section(claims, measures, digits, record["config"]["seeds"], bits)


def _task_titles(record: Record) -> list[str]:
    """The titles of all figures of tasks, in their order; older runs have none."""
    every = [title for one in migrations_of(record) for title, _ in one.get("tasks", ())]
    return list(dict.fromkeys(every))


def _figures(record: Record) -> dict[str, dict[str, list[OverSeeds | None]]]:
    """What was measured: by its name and target language, a cell for each row."""
    migrations = [record["migrations"][one["row"]] for one in record["variations"]]
    everything = migrations_of(record)
    targets = dict.fromkeys(one["target"] for one in everything)
    columns = [] if too_many(record) else everything
    orderings = dict.fromkeys(name for one in columns for name in one["orderings"])
    found: dict[str, dict[str, list[OverSeeds | None]]] = {BITS: {}}
    found |= {f"BLEU {name}": {} for name in orderings}
    tasks = _task_titles(record)
    found |= {title: {} for title in tasks}
    distances = dict.fromkeys(title for one in everything for title in one.get("distances", ()))
    found |= {title: {} for title in distances}
    for target in targets:
        own = [[one for one in many if one["target"] == target] for many in migrations]
        found[BITS][target] = [OverSeeds.of(list(map(_final_bits, many)), 3) for many in own]
        for name in orderings:
            scores = [[one["translation"].get(name) for one in many] for many in own]
            found[f"BLEU {name}"][target] = [
                OverSeeds.of([score["bleu"] for score in many if score], 2) for many in scores
            ]
        for title in tasks:
            found[title][target] = [
                OverSeeds.of([dict(one["tasks"])[title] for one in many], 2) for many in own
            ]
        for title in distances:
            found[title][target] = [
                OverSeeds.of([one["distances"][title] for one in many], 3) for many in own
            ]
    return found


def _translations(record: Record) -> Iterator[Section]:
    """Every translation of every row, with where it falls short."""
    rows = []
    for code, many in record["migrations"].items():
        header, own = bleu_table(many)
        rows += [[code, *row] for row in own]
    if rows:
        notes = decodings_notes(record)
        yield Section("Translations", header=["row", *header], rows=rows, notes=notes)


def _final_bits(one: Record) -> float:
    """Bits per word of the target language at the end."""
    return one["phases"][-1]["bpw"][one["target"]]


def _has_papers(record: Record) -> bool:
    return any(one["paper"] is not None for one in record["variations"])


def _size(many: Sequence[Record]) -> Iterator[int | None]:
    """Parameters of the last model, without the heads of others (None of one that is not trained),
    steps and tokens of all trainings; steps and tokens are the means over seeds and targets."""
    last = [one["cost"]["trainings"][-1] for one in many if one["cost"]["trainings"]]
    yield min((training["parameters"] for training in last), default=None)
    for name in ("steps", "tokens"):
        yield round(statistics.fmean(one["cost"]["sums"][name] for one in many))


def _draw(record: Record, what: str, found: Mapping[str, Sequence[OverSeeds | None]]) -> Drawing:
    if axis := record.get("axis"):
        sizes = [axis["sizes"][one["row"]] for one in record["variations"]]
        lines = []
        for style, (target, cells) in enumerate(found.items()):
            drawn = [(x, y) for x, y in zip(sizes, cells, strict=True) if x is not None and y]
            x, y = zip(*sorted(drawn, key=lambda one: one[0]), strict=True) if drawn else ((), ())
            spread = [cell.spread or 0.0 for cell in y]
            lines.append(Line(target, x, [c.mean for c in y], style, spread=spread))
        return partial(draw, [Panel(lines, xlabel=axis["title"], ylabel=what, log_x=True)])
    names = [f"{one['row']}: {one['name']}" for one in record["variations"]]
    # Rows without a figure have no line: most rows of a study do not translate.
    shown = [place for place, of in enumerate(zip(*found.values(), strict=True)) if any(of)]
    panels = [
        DotPanel(
            [names[place] for place in shown],
            [cells[place].values if cells[place] else [] for place in shown],
            what,
            target,
        )
        for target, cells in found.items()
    ]
    return partial(draw_dots, panels)


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
    if _has_papers(record):
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
