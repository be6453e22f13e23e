"""The results of `ablate clcr-pairs` and `ablate clcr-readings`: a row for each size or reading.

Their frame has distance, pivots, accuracy and time of each row and seed.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairseq_xling.papers.clcr.classify_result import accuracies
from fairseq_xling.papers.clcr.run_result import read_artifacts
from fairseq_xling.papers.trelm.results import read_cost
from fairseq_xling.results.figures import Line, Panel, draw
from fairseq_xling.results.page import Measured, Page, Result, caption, seeds_in_words
from fairseq_xling.results.paired import in_words, paired_difference, paired_verdict
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, find_results, write_results
from fairseq_xling.runs.step import Step
from fairseq_xling.verbs.parts.probe_result import shown

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from fairseq_xling.papers.clcr.plan import Artifacts

# Trainings by what their names begin with.
MODULES = {"T": ("transform", "lm"), "E": ("extract",), "R": ("order",)}
HARD, RELATIVE, F1 = "hard D", "relative D", "pivot F1 (%)"
DISTANCE = "relative D (lower is better)"
_UNITS = {HARD: ("of distance", 3), DISTANCE: ("of the spread", 3)}  # of differences
# Of the tables of key-points and orders: their column, that of the page, and its unit.
KEYPOINTS = (("accuracy", "E, {} (%)", 100.0, 1), ("entropy", "entropy of E, {} (bits)", 1.0, 3))
ORDERS = (("BLEU-2", "order BLEU-2", 1.0, 3),)
Record = Mapping[str, Any]


def write_study(
    kind: type[StudyResult],
    run: Path,
    config: Any,
    pair: tuple[str, str],
    parts: Sequence[Any],
    steps: Sequence[Step],
    **more: Any,
) -> None:
    """Write the results of all parts into ``run``, and what their page shows; ``more`` is kept in
    the record."""
    frame, tests = read_parts(parts, pair, partial(kind.tables, config=config))
    record = {"config": dataclasses.asdict(config), "pair": list(pair), **more, **tests}
    models = {
        f"model, {part.name}, seed {x.seed}": x.model for part in parts for x in part.artifacts
    }
    write_results(kind, run, record, models, steps, frame)


def read_parts(
    parts: Sequence[Any], pair: tuple[str, str], tables: Callable[[Record], dict[str, float]]
) -> tuple[pandas.DataFrame, dict[str, Any]]:
    """What was measured of each part, and what all were tested on (nothing without a task);
    ``tables`` gives further figures of a seed, from what `read_artifacts` says of it."""
    from fairseq_xling.results.frame import make_frame

    rows, tests = [], {}
    for part in parts:
        tabled = []
        for artifacts in part.artifacts:
            found, about = (
                read_artifacts(artifacts, pair),
                {"row": part.row, "seed": artifacts.seed},
            )
            rows += measured(_trained(artifacts, found, pair), **about)
            tabled += measured(tables(found), **about)
        if part.classified is not None:
            (result,) = find_results(part.classified)
            tests = {name: result.record[name] for name in ("source", "tests", "majority")}
            own = accuracies(result.frame)
            names = "accuracy, " + own["row"] + ", " + own["task"]
            own = own.assign(model=own["row"], measure=names, row=part.row)
            columns = ["row", "seed", "model", "task", "measure", "value"]
            rows += own[columns].to_dict("records")
        rows += tabled
    return make_frame(rows, paper="clcr"), tests


def measured(figures: Mapping[str, float | None], **about: Any) -> list[dict[str, Any]]:
    """Rows of a frame for those ``figures`` that are known."""
    return [{**about, "measure": x, "value": v} for x, v in figures.items() if v is not None]


def _trained(artifacts: Artifacts, found: Record, pair: Sequence[str]) -> dict[str, float | None]:
    """Means of both directions after the last phase, F1 of tuned pivots, and seconds."""
    last, (a, b) = found["distances"][-1], pair
    figures: dict[str, float | None] = {}
    for kind in ("hard", "relative"):
        values = [last[f"{kind}_{way}"] for way in (f"{a}_{b}", f"{b}_{a}")]
        figures[kind] = None if None in values else statistics.fmean(values)
    figures |= {"f1": (found["tuned"] or {}).get("f1"), "pivots": found["pivots"]["pivots"]}
    seconds: dict[str, float] = {}
    for name, log in artifacts.logs.items():
        module = next(m for m, begins in MODULES.items() if name.startswith(begins))
        seconds[module] = seconds.get(module, 0.0) + read_cost(log)["seconds"]
    return figures | {f"seconds of {module}": seconds[module] for module in sorted(seconds)}


def reading_tables(found: Record, config: Any) -> dict[str, float]:
    """Figures of key-points at the chosen threshold, and of the order that T+E+R has: by the first
    head, of the first language that has one, and the widest search."""
    figures = {}
    if "keypoints" in found:
        for row in _named_rows(found["keypoints"]):
            if row["delta"] == config.delta:
                for column, name, scale, _ in KEYPOINTS:
                    figures[name.format(row["language"])] = scale * row[column]
    if "order" in found:
        rows = [row for row in _named_rows(found["order"]) if row["search"]]  # not the source's
        own = [row for row in rows if row["order"].split()[0] == config.order_list[0]]
        last = [row for row in own if row["order"] == own[0]["order"]][-1]
        figures |= {name: scale * last[column] for column, name, scale, _ in ORDERS}
    return dict(sorted(figures.items()))


def _named_rows(table: Record) -> list[dict[str, Any]]:
    return [dict(zip(table["header"], row, strict=True)) for row in table["rows"]]


def shown_figures(record: Record, frame: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of ``frame`` that the page shows, in the order of the table's columns: ``column``
    and ``digits``, and values in its unit."""
    known = {"hard": (HARD, 3), "relative": (RELATIVE, 3), "f1": (F1, 1)}
    tests = dict(record.get("tests", ()))
    for file, lang in tests.items():
        for model in dict.fromkeys(frame["model"].dropna()) if lang != record["source"] else ():
            known[f"accuracy, {model}, {file}"] = (f"{model}, {shown(tests, file)} (%)", 1)
    for lang in record["pair"]:
        known |= {
            name.format(lang): (name.format(lang), digits) for _, name, _, digits in KEYPOINTS
        }
    known |= {name: (name, digits) for _, name, _, digits in ORDERS}
    known |= {f"seconds of {module}": (f"{module} (s)", 0) for module in MODULES}
    order = {measure: place for place, measure in enumerate(known)}
    found = frame[frame["measure"].isin(order)]
    found = found.sort_values("measure", key=lambda names: names.map(order), kind="stable")
    columns, digits = zip(*(known[measure] for measure in found["measure"]), strict=True)
    percent = zip(found["measure"], found["value"], strict=True)
    values = [100 * value if measure == "f1" else value for measure, value in percent]
    return found.assign(column=columns, digits=digits, value=values)


def differences(
    figures: pandas.DataFrame, after: Any, before: Any
) -> dict[str, tuple[list[float], list[float]]]:
    """Both sides of each figure that two rows have, by the seeds that both have."""
    from fairseq_xling.results.frame import split

    sides = {}
    for column, own in split(figures, "column"):
        names = zip(own["row"], own["seed"], own["value"], strict=True)
        found = {(row, seed): value for row, seed, value in names}
        seeds = sorted(x for row, x in found if row == after and (before, x) in found)
        if seeds:
            name = DISTANCE if column == RELATIVE else column.removesuffix(" (%)")
            sides[name] = [found[after, x] for x in seeds], [found[before, x] for x in seeds]
    return sides


def differences_in_words(sides: Mapping[str, tuple[list[float], list[float]]]) -> str:
    """The name of each figure, and the mean of its differences with their test."""
    return "; ".join(
        f"{name} {in_words(paired_difference(*both), *_UNITS.get(name, ('points', 1)))}"
        for name, both in sides.items()
    )


def chance_of(record: Record) -> tuple[float, str] | None:
    """The accuracy of the most frequent label, the mean over the test files of other languages."""
    if "majority" not in record:
        return None
    always = record["majority"]
    others = [file for file, lang in record["tests"] if lang != record["source"]]
    known = [always["accuracy"][file] for file in others if file in always["accuracy"]]
    return (statistics.fmean(known), f"always {always['label']}") if known else None


def zero_shot_note(rows: str, record: Record) -> list[str]:
    """What accuracies are, and that of the most frequent label, if it is known."""
    if "tests" not in record:
        return []
    chance = chance_of(record)
    return [
        f"Accuracy{rows} is zero-shot: a classifier trained on {record['source']}, tested on other "
        "languages" + (f"; {chance[1]}: {chance[0]:.1f}." if chance else ".")
    ]


class StudyResult(Kind):
    """The table of a study, and a figure of its columns.

    Attributes:
        source: of the paper.
        titles: of the page, its lead, the first column, and the figure.
        drawn: how the figure shows several seeds.
        rows: of which the index has figures, and what follows their names there.
    """

    source: str
    titles: tuple[str, str, str, str]
    drawn: str
    rows: tuple[slice, str] = slice(None), ""

    @staticmethod
    def tables(found: Record, config: Any) -> dict[str, float]:
        """Further figures of a seed, from what `read_artifacts` says of it."""
        return {}

    def notes(self, record: Record, figures: pandas.DataFrame) -> Iterator[str]:
        """The notes of the table."""
        raise NotImplementedError(type(self).__name__)

    def figure(self, record: Record, figures: pandas.DataFrame, columns: Record) -> Figure:
        """The drawing; ``columns`` are the cells of the table by heading."""
        raise NotImplementedError(type(self).__name__)

    def code(self, column: str) -> str:
        """The row of the specification that a column measures, if any."""
        raise NotImplementedError(type(self).__name__)

    def page(self, result: Result) -> Page:
        from fairseq_xling.results.frame import listed, pivot

        record, frame = result.record, result.frame
        title, lead, first, figure = self.titles
        figures = shown_figures(record, frame)
        digits = dict(zip(figures["column"], figures["digits"], strict=True))
        header, rows = pivot(figures, {first: "row"}, "column", digits=digits)
        columns = dict(zip(header, zip(*rows, strict=True), strict=True))
        notes = [*self.notes(record, figures), f"{result.machine}."]
        words = seeds_in_words(record["config"]["seeds"], self.drawn)
        chosen, unit = self.rows
        names = {first: "row", "seed": "seed", "figure": "measure", "value": "value"}
        return Page(
            title=f"{title}, {record['pair'][0]} and {record['pair'][1]}",
            source=self.source,
            lead=[lead],
            sections=[
                Section("Table", header=header, rows=rows, notes=notes, name="table"),
                Section(
                    figure,
                    figure=partial(self.figure, record, figures, columns),
                    notes=caption(result, self.source, words),
                    name="plot",
                ),
            ],
            tables={"table": listed(frame, names)},
            measured=[
                Measured(code, f"{column}, {row[0]}{unit}", row[place].mean)
                for place, column in enumerate(header)
                if place and (code := self.code(column))
                for row in rows[chosen]
                if row[place] is not None
            ],
        )


@KINDS.register("clcr-pairs")
class PairsResult(StudyResult):
    """The table, and a curve for each of its figures."""

    name, source, drawn = "clcr-pairs", "CLCR, 4.3", "bands"
    titles = (
        "CLCR by the number of sentence pairs",
        "The same training on nested subsets of the sentence pairs.",
        "pairs",
        "By size",
    )
    rows = slice(-1, None), " pairs"

    def code(self, column: str) -> str:
        return "C17"

    def figure(self, record: Record, figures: pandas.DataFrame, columns: Record) -> Figure:
        """Distances, pivots, accuracies, seconds: those that were measured."""
        zero_shot = dict.fromkeys(figures.loc[figures["task"].notna(), "column"])
        panels = [
            ("hard D", {HARD: "best partner alone"}, None),
            ("D / spread of the target's states", {RELATIVE: RELATIVE}, (1.0, "chance")),
            ("F1 (%)", {F1: "pivots"}, None),
            ("accuracy (%)", {x: x.removesuffix(" (%)") for x in zero_shot}, chance_of(record)),
            ("seconds of training", {f"{module} (s)": module for module in MODULES}, None),
        ]
        made = []
        for ylabel, names, chance in panels:
            lines = []
            for style, (name, label) in enumerate(names.items()):
                points = zip(columns["pairs"], columns.get(name, ()), strict=False)
                if drawn := [(x, cell) for x, cell in points if cell]:
                    x, y = zip(*drawn, strict=True)
                    spread = [cell.spread or 0.0 for cell in y]
                    lines.append(Line(label, x, [cell.mean for cell in y], style, spread=spread))
            if lines:
                made.append(Panel(lines, "sentence pairs", ylabel, chance=chance, log_x=True))
        return draw(made)

    def notes(self, record: Record, figures: pandas.DataFrame) -> Iterator[str]:
        config = record["config"]
        many = "," in config["seeds"]
        yield (
            f"{'Mean ± standard deviation over seeds' if many else 'Seed'} {config['seeds']}. "
            "Subsets are nested; encoders, and the text to validate on, are the same in every row."
        )
        yield (
            "D is that of validation text, the mean of both directions; hard: to each word's best "
            "partner alone; relative: divided by the spread of the target's states, chance 1."
        )
        if not config["threshold"]:
            yield (
                "F1 of pseudo-gold pivots against the word alignment of "
                f"{config['tune_on']}, on which their threshold was tuned."
            )
        yield "Seconds are the wall time of the trainings; T with its phases of the encoders."
        yield from zero_shot_note("", record)
        yield from gains(figures)


def gains(figures: pandas.DataFrame) -> Iterator[str]:
    """What the most pairs give over the fewest, by seed, and what the paper says of the last
    figure, which is of the most modules."""
    fewest, most = min(figures["row"]), max(figures["row"])
    compared = figures[~figures["column"].str.endswith((HARD, " (s)"))]
    sides = differences(compared, most, fewest)
    if fewest == most or not sides:
        return
    yield f"From {fewest:,} to {most:,} pairs: {differences_in_words(sides)}."
    *_, last = sides
    if last != DISTANCE:
        yield paired_verdict(
            "More sentence pairs give no gain (4.3, where there were 250,000).",
            *reversed(sides[last]),
            f"points of {last}, {fewest:,} pairs minus {most:,}",
        )


@KINDS.register("clcr-readings")
class ReadingsResult(StudyResult):
    """The table, and bars for the figures that a reading may change."""

    name, source, drawn = "clcr-readings", "CLCR, Sections 3.1 to 3.3", "whiskers"
    titles = (
        "Readings of what CLCR leaves open",
        "The same training, with one point read in another way.",
        "reading",
        "By reading",
    )
    tables = staticmethod(reading_tables)

    def code(self, column: str) -> str:
        named = {RELATIVE: "C4", "E, ": "C10", ORDERS[0][1]: "C13", "T, ": "C15", "T+": "C15"}
        return next((code for name, code in named.items() if column.startswith(name)), "")

    def figure(self, record: Record, figures: pandas.DataFrame, columns: Record) -> Figure:
        """A panel for every column but the times."""
        from fairseq_xling.results.charts import bars

        drawn = figures[~figures["column"].str.endswith("(s)")]
        title = lambda own: own["column"].iat[0]  # noqa: E731
        return bars(drawn, title, series="column", panel="column")

    def notes(self, record: Record, figures: pandas.DataFrame) -> Iterator[str]:
        config = record["config"]
        seeds = f"seeds {config['seeds']}" if "," in config["seeds"] else f"seed {config['seeds']}"
        for one in record["readings"]:
            yield f"{one['name']}: {one['title']}."
        yield (
            f"Mean ± standard deviation over {seeds}; a reading shares with the defaults what is "
            "trained before it differs."
        )
        yield (
            "D is that of validation text, the mean of both directions; relative: divided by the "
            "spread of the target's states, chance 1. E is the accuracy of key-points against "
            f"pseudo-gold pivots of validation text, where words with p above {config['delta']} "
            "are kept; entropy: the mean of p's, 1 is chance. BLEU-2: precision of pairs of words "
            "in the found order, of the language that is reordered."
        )
        yield from zero_shot_note(" of T, T+E and T+E+R", record)
        yield from changes(figures)


def changes(figures: pandas.DataFrame) -> Iterator[str]:
    """What each reading changes against the first row, the defaults, by seed; what is equal is
    shared, or has not moved."""
    compared = figures[figures["column"].str.endswith((" D", " (%)"))]
    defaults, *others = dict.fromkeys(compared["row"])
    for reading in others:
        sides = differences(compared, reading, defaults)
        changed = {name: both for name, both in sides.items() if both[0] != both[1]}
        if changed:
            yield f"{reading} against the defaults: {differences_in_words(changed)}."
