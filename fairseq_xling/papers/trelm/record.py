"""The records of `trelm run` and of its studies: tables and figures, declared over the rows of
`fairseq_xling.papers.trelm.results`.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.core.files import atomic_write
from fairseq_xling.engine.training_log import UNDRAWN
from fairseq_xling.interop.sources import folder_family
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.papers.trelm.results import (
    BITS,
    PAPER,
    PRECISIONS,
    SCORES,
    costs_of,
    measure,
    part,
    totals,
    which,
)
from fairseq_xling.papers.trelm.study import Study, Variation
from fairseq_xling.reports.page import parts, write_run
from fairseq_xling.reports.pivot import Contrast, Table
from fairseq_xling.reports.record import Chart, Record, Section, made
from fairseq_xling.reports.rows import GIVEN, Row, distinct, figures, select, told
from fairseq_xling.reports.tables import text_table
from fairseq_xling.workflow.recipe import with_steps
from fairseq_xling.workflow.step import Step

RUN_FILES = ("report.html", "results.json", "summary.txt", "table.csv")
_OF = {"target": "target", "seeds": "seeds"}
_SCORED = {
    **dict.fromkeys(PRECISIONS, 1),
    **{"BLEU": 2, "brevity penalty": 3, "length ratio": 3, "chrF": 2},
    **{"words": 1, "order": 1, "repeated": 1},
}
_COLUMNS = 4  # of a study's table: the three orderings, and an autoregressive model
_SHORT = ("BLEU", "chrF", "length ratio", "words", "order", "repeated")
FAULTS = (
    "Words: F1 of the words, whatever their order. Order: pairs of unambiguous words in the order "
    "of the reference. Repeated: words that repeat the one before them. All in percent."
)
TASKS = "Tasks are trained and tested in the target language, from the last checkpoint; in percent."
# Kinds of rows that a study's table has, with the digits of their figures.
_SHOWN = {"bits": 3, "translation": 2, "task": 2, "distance": 3}


# ---- a run


def write_migrations(
    run: Path, config: TrelmConfig, migrations: Sequence[Migration], steps: Sequence[Step]
) -> None:
    """Write `RUN_FILES` into ``run``."""
    rows, places = measure(((None, one) for one in migrations), "run")
    facts = {"source family": folder_family(config.source), **places}
    record = run_record(rows, dataclasses.asdict(config), facts)
    write_run(run, with_steps(made(record, {}), run, steps))
    with atomic_write(run / "summary.txt", "w") as file:
        for part_ in parts(record):
            if part_.section.table and part_.section.name:
                file.write(f"{part_.section.title}\n{text_table(*part_.shown)}\n\n")


def run_record(rows: Sequence[Row], config: Mapping[str, Any], places: Mapping[str, Any]) -> Record:
    """The record of migrations."""
    source, targets = rows[0]["source"], ", ".join(distinct(rows, "target"))
    return Record(
        f"Migration to {targets}",
        rows,
        tuple(_run_sections(rows, config)),
        source=f"{PAPER}, Algorithm 1",
        lead=[
            f"The encoder {config['source']} was migrated from {source} to {targets}: new words, "
            "then commonality training, transfer in both directions, combination, and training on "
            f"the target language alone ({PAPER}, Algorithm 1)."
        ],
        facts=places,
        config=config,
    )


def _run_sections(rows: Sequence[Row], config: Mapping[str, Any]) -> Iterator[Section]:
    source = rows[0]["source"]
    chances = []
    for target in distinct(rows, "target"):
        bits = select(part(rows, "bits"), {"target": target})
        known = {row["language"]: row["chance"] for row in bits}
        both = " and ".join(f"{value:.2f} ({lang})" for lang, value in known.items())
        chances.append(f"Chance is {both} bits per word with the words of {target}.")
    yield Section(
        "Bits per word after each phase",
        Table(
            {**_OF, "after": "phase", "steps": "steps"},
            "{measure}, {side}",
            {"kind": "bits"},
            order=[f"{BITS}, {source}", f"{BITS}, target"],
        ),
        Chart(
            *("bars", {"kind": "bits"}, "phase"),
            series="language",
            panel="target",
            title="to {target}",
            xlabel="bits per masked subword",
            chance="chance ({chance})",
        ),
        chances,
        f"With the same masks of the {config['bpw_split']} text for all checkpoints; lower is "
        "better.",
        name="bits",
    )
    yield from _translations(rows)
    if part(rows, "task"):
        yield Section(
            "Tasks", Table(_OF, where={"kind": "task"}, digits=2), text=TASKS, name="tasks"
        )
    if part(rows, "map"):
        yield Section(
            "Map of the embeddings",
            Table({"target": "target"}, where={"kind": "map"}),
            text="Mean cosine of the vectors to their nearest source embeddings after the map.",
        )
    each = list(dict.fromkeys((row["target"], row["seed"]) for row in rows if "seed" in row))
    for target, seed in each:
        of = {"target": target, "seed": seed}
        drawn = {row["measure"] for row in select(part(rows, "loss"), of)} - UNDRAWN
        yield Section(
            f"Loss, {which(target, seed)}",
            chart=Chart(
                "curve",
                {"kind": "loss", **of, "measure": sorted(drawn)},
                row="curve",
                x="steps",
                panel="phase",
                xlabel="optimiser steps",
                ylabel="bits per predicted subword",
            ),
        )
    for target, seed in each:
        of = {"target": target, "seed": seed}
        sizes = {}
        for name in ("training sentences", "training pairs"):
            own = select(part(rows, "text"), {**of, "measure": name})
            sizes[name] = ", ".join(f"{row['value']:,} of {row['language']}" for row in own)
        yield Section(
            f"Cost of {target}, seed {seed}",
            Table(
                {"phase": "phase"},
                where={"kind": "costs", **of},
                digits={"minutes": 1, "sentences a step": 1, "ms a step": 1, "device-days": 4},
            ),
            notes=["Minutes are fairseq-train's running time, without interruptions."],
            text=f"Training sentences: {sizes['training sentences']}; sentence pairs: "
            f"{sizes['training pairs'] or 'none'}. Both directions of transfer are trained; the "
            "paper counts them as one.",
        )


def _scores(
    rows: Mapping[str, str], order: Sequence[str] = (*PRECISIONS, *SCORES), **where: Any
) -> Table:
    """n-gram precisions, BLEU and where it is lost, of every ordering."""
    return Table(rows, where={"kind": "translation", **where}, order=order, digits=_SCORED)


def _translations(rows: Sequence[Row]) -> Iterator[Section]:
    """Scores of all, then sentences of each migration; nothing if none has translated."""
    if not part(rows, "translation"):
        return
    samples = part(rows, "sample")
    both = "backward" in distinct(samples, "direction")
    yield Section(
        f"Translation with the forward {'and backward ' * both}model",
        _scores({**_OF, "ordering": "ordering"}),
        Chart(
            *("bars", {"kind": "translation", "measure": [*PRECISIONS, "BLEU"]}, "measure"),
            series="ordering",
            panel="target",
            title="to {target}",
            xlabel="percent",
        ),
        [
            "Precisions as printed by sacrebleu, in percent, without smoothing; BLEU is their "
            "geometric mean times the brevity penalty. References are the data folder's subwords "
            "joined again.",
            *_decodings_notes(rows),
        ],
        "All words are predicted at once; the orderings differ in the source position of each "
        "target word.",
        name="translation",
        source=f"{PAPER}, Table 6",
    )
    for target, seed, direction in dict.fromkeys(
        (row["target"], row["seed"], row["direction"]) for row in samples
    ):
        of = {"target": target, "seed": seed, "direction": direction}
        where = which(target, seed) if direction == "forward" else f"from {target}, seed {seed}"
        headings = {"": "number", "source": "text", "reference": "reference"}
        table = Table(headings, "ordering", {"kind": "sample", **of})
        yield Section(f"Translations {where}", table)


def _decodings_notes(rows: Sequence[Row]) -> list[str]:
    """What the columns of scores are, and sacrebleu's signatures."""
    signatures = sorted(set(distinct(part(rows, "translation"), "signature")))
    return [FAULTS, f"sacrebleu {'; '.join(signatures)}"]


# ---- a study


def write_study(
    study: Study,
    run: Path,
    config: TrelmConfig,
    migrations: Sequence[tuple[Variation, list[Migration]]],
    steps: Sequence[Step],
) -> None:
    """Write the files of `ONE_FIGURE` into ``run``."""
    every = ((row.code, one) for row, many in migrations for one in many)
    rows, places = measure(every, study.title)
    variations = [dataclasses.asdict(dataclasses.replace(row, add=None)) for row, _ in migrations]
    if study.axis:
        variations = [{**one, "size": one["changes"][study.size]} for one in variations]
    source = f"{PAPER}, {study.help.rpartition('TreLM, ')[2]}"
    record = study_record(
        *(study.title, source, study.lead, study.notes, study.axis),
        *(variations, rows, dataclasses.asdict(config), places),
    )
    write_run(run, with_steps(made(record, {}), run, steps))


def study_record(
    title: str,
    source: str,
    lead: str,
    notes: Sequence[str],
    axis: str,
    variations: Sequence[Mapping[str, Any]],
    rows: Sequence[Row],
    config: Mapping[str, Any],
    places: Mapping[str, Any],
) -> Record:
    """The record of a study, whose ``variations`` have the fields of `Variation`, and ``size``."""
    shown = _shown_rows(title, variations, rows)
    names = {one["code"]: one["name"] for one in variations}
    settings = [
        {
            **{"paper": "trelm", "study": title, "kind": "setting"},
            **{"row": one["code"], "name": one["name"]},
            "changes": ", ".join(f"{name} = {value}" for name, value in one["changes"].items()),
        }
        for one in variations
    ]
    every = [
        {**row, "name": names[row["row"]]} for row in (*_size_rows(title, names, rows), *shown)
    ]
    sections = tuple(_study_sections(every, variations, config, notes, axis))
    return Record(title, [*settings, *every], sections, source, [lead], places, config)


def _size_rows(title: str, names: Mapping[str, str], rows: Sequence[Row]) -> Iterator[Row]:
    """Parameters of the last model of each row, without the heads of others (none of one that is
    not trained); steps and tokens of all trainings, means over seeds and targets."""
    for code in names:
        own = select(rows, {"row": code})
        migrations = dict.fromkeys((row["target"], row["seed"]) for row in own if "seed" in row)
        costs = [
            costs_of(select(own, {"target": target, "seed": seed})) for target, seed in migrations
        ]
        sizes = [list(one.values())[-1]["parameters"] for one in costs if one]
        found = {"parameters": min(sizes, default=None)}
        for name in ("steps", "tokens"):
            found[name] = round(statistics.fmean(totals(one)[name] for one in costs))
        for name, value in found.items():
            if value is not None:
                about = {"paper": "trelm", "study": title, "kind": "size", "row": code}
                yield {**about, "figure": name, "measure": name, "value": value}


def _shown_rows(
    title: str, variations: Sequence[Mapping[str, Any]], rows: Sequence[Row]
) -> Iterator[Row]:
    """All rows; those of the study's table and figures have the name of their ``figure``, and
    translations ``of`` which rows they are."""
    codes = [one["code"] for one in variations]
    # Bits per word of the target after the last phase of each migration.
    bits = [row for row in part(rows, "bits") if row["language"] == row["target"]]
    last = {(row["row"], row["target"], row["seed"]): id(row) for row in bits}.values()
    several = too_many(rows)
    sizes = {one["code"]: one.get("size") for one in variations}
    groups = _groups(rows, codes) if several else {}
    for row in rows:
        figure = None
        if id(row) in last:
            figure = BITS
        elif row["kind"] == "translation" and row["measure"] == "BLEU" and not several:
            figure = f"BLEU {row['ordering']}"
        elif row["kind"] in ("task", "distance"):
            figure = row["measure"]
        of = groups.get((row["row"], row["target"], row.get("ordering")))
        more = {"figure": figure, "size": sizes[row["row"]] if figure else None}
        more["of"] = of if row["kind"] == "translation" else None
        yield {**row, **{name: value for name, value in more.items() if value is not None}}
    for one in variations:
        if one["paper"] is not None:
            about = {"paper": "trelm", "study": title, "kind": "paper", "row": one["code"]}
            value = {"measure": f"paper: {BITS}", "value": one["paper"]}
            yield {**about, "figure": f"paper: {BITS}", **value}


def too_many(rows: Sequence[Row]) -> bool:
    """Whether some row translates in more ways than a table has columns for."""
    ways: dict[Any, set[str]] = {}
    for row in part(rows, "translation"):
        ways.setdefault((row["row"], row["target"], row["seed"]), set()).add(row["ordering"])
    return max(map(len, ways.values()), default=0) > _COLUMNS


def _groups(rows: Sequence[Row], codes: Sequence[str]) -> dict[tuple[str, str, str], str]:
    """By row, target and ordering: of which rows a translation is. Those with the same figures in
    several rows, such as the orderings of a migration that they share, are said of the first."""
    same: dict[Any, list[str]] = {}
    for code in codes:
        own = select(part(rows, "translation"), {"row": code, "measure": list(_SHORT)})
        for (target, ordering), _ in figures(own, "target", "ordering").items():
            lines = select(own, {"target": target, "ordering": ordering})
            key = tuple((row["measure"], row["seed"], row["value"]) for row in lines)
            same.setdefault((target, ordering, key), []).append(code)
    return {
        (of[0], target, ordering): "all" if len(of) == len(codes) > 1 else ", ".join(of)
        for (target, ordering, _), of in same.items()
    }


def _study_sections(
    rows: Sequence[Row],
    variations: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    notes: Sequence[str],
    axis: str,
) -> Iterator[Section]:
    shown = select(rows, {"figure": GIVEN})
    digits = {row["figure"]: _SHOWN.get(row["kind"], 3) for row in shown}
    digits |= dict.fromkeys(("parameters", "steps", "tokens"))
    digits |= {told(row, "{figure}, {target}"): digits[row["figure"]] for row in shown}
    several = len(variations) > 1
    first = variations[0]["code"]
    contrast = Contrast(first, "Δ {figure}, {target}", [BITS]) if several else None
    headings = distinct(shown, "{figure}, {target}")
    yield Section(
        "Table",
        Table(
            {"row": "row", "": "name"},
            "{figure}, {target}",
            {"figure": GIVEN},
            # First even where the first row has none, since it trains nothing.
            order=sorted(headings, key=lambda heading: heading != "parameters"),
            digits=digits,
            contrast=contrast,
        ),
        notes=[*notes, *_study_notes(rows, variations, config)],
        name="table",
    )
    name = "plot"
    decoded = select(rows, {"of": GIVEN})
    if decoded:
        line = "{of}: {ordering}" if len(distinct(decoded, "of")) > 1 else "ordering"
        headings_of = {"row": "of", **_OF, "translation": "ordering"}
        yield Section(
            "Translations",
            _scores(headings_of, _SHORT, of=GIVEN),
            Chart(
                *("dots", {"kind": "translation", "measure": "BLEU", "of": GIVEN}, line),
                panel="target",
                title="{target}",
                xlabel="BLEU",
            ),
            _decodings_notes(rows),
            name=name,
        )
        name = ""
    for figure in distinct(select(shown, {"target": GIVEN}), "figure"):
        title, where = f"{figure[:1].upper()}{figure[1:]}", {"figure": figure}
        if axis:
            words = {"xlabel": axis, "ylabel": figure, "log": "x"}
            chart = Chart("curve", where, "target", "size", panel="figure", **words)
        else:
            chart = Chart("dots", where, "{row}: {name}", panel="target", title="{target}")
            chart = dataclasses.replace(chart, xlabel=figure)
        yield Section(title, chart=chart, name=name)
        name = ""
    if part(rows, "translation") and not decoded:
        table = _scores({"row": "row", **_OF, "ordering": "ordering"})
        yield Section("Translations", table, notes=_decodings_notes(rows))
    headings = {"row": "row", "what it is": "name", "changes": "changes"}
    yield Section(
        "Settings of the rows",
        Table(headings, "", {"kind": "setting"}),
        text="Differences from the settings of the study.",
    )


def _study_notes(
    rows: Sequence[Row], variations: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
) -> Iterator[str]:
    first = variations[0]["code"]
    bits = select(rows, {"row": first, "figure": BITS})
    chance = ", ".join(
        f"{value:.2f} ({lang})" for lang, value in {r["target"]: r["chance"] for r in bits}.items()
    )
    many = "," in config["seeds"]
    seeds = f"{'mean ± standard deviation over seeds' if many else 'seed'} {config['seeds']}"
    change = f" Δ is the difference to {first}." if len(variations) > 1 else ""
    yield (
        f"Bits per word of masked words of the {config['bpw_split']} text, with the same masks for "
        f"every row; {seeds}.{change} Chance: {chance}."
    )
    if any(one["paper"] is not None for one in variations):
        yield (
            "The paper's figures are from models and texts thousands of times larger; they are "
            "shown only for the order of the rows."
        )
    if part(rows, "task"):
        yield TASKS
