"""Properties of two languages that zero-shot figures of finished runs are compared with.

Entity overlap against zero-shot F1: Pires et al. (2019), Figure 2.

    overlap = |E_train ∩ E_eval| / |E_train ∪ E_eval|

with ``E`` the set of the subwords inside the entities of a file. Subwords are compared by spelling,
not by id: the definition is of wordpieces, and in folders whose languages have their own ids
(``--vocab prefixed``, ``separate``) one wordpiece has several ids, or one id means several. In all
other folders both are the same. ``<unk>`` is not a subword.

Shared word-order features against zero-shot figures: Pires et al. (2019), Figure 3.

The user supplies the table of features, for example from the World Atlas of Language Structures, on
the order of subject, object and verb, or adjective and noun. A feature that is unknown for either
language is neither shared nor different.
"""

import argparse
import dataclasses
import functools
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.correlation import LEAST, correlation
from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import on_disk, same_place
from fairseq_xling.core.texts import read_lines
from fairseq_xling.data.folder import SPECIALS, UNK, DataFolder, read_dictionary
from fairseq_xling.papers.transfer.parsing import parse_tests
from fairseq_xling.papers.transfer.zero_shot import Options as TransferOptions
from fairseq_xling.papers.transfer.zero_shot import data_folder
from fairseq_xling.reports.page import PAGE, write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Record, Section, made, read_record
from fairseq_xling.reports.rows import COLUMNS, GIVEN, Row, columns_of, distinct, figures, select
from fairseq_xling.tasks.encode import Codec
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.heads import heads
from fairseq_xling.tasks.heads.tagging import Ner
from fairseq_xling.tasks.items import parse_columns, parse_files
from fairseq_xling.tasks.spans import check_bio
from fairseq_xling.text.vocabularies import mode_of
from fairseq_xling.verbs.parts.output import as_text

CORRELATIONS = ("points", "Pearson", "Spearman")


@dataclass(frozen=True)
class FinishedFigure:
    """A figure of a run: one encoder on one language."""

    run: Path
    config: TransferOptions  # whose paths are relative to the folder in which the run was started
    encoder: str
    row: str  # unlike those of other encoders and other runs
    sources: tuple[str, ...]  # languages that were trained on
    lang: str  # that was tested
    values: tuple[float, ...]  # of the seeds, in percent
    tested: Path = Path()

    @property
    def zero_shot(self) -> bool:
        """Whether the model was not trained on this language."""
        return self.lang not in self.sources

    @property
    def mean(self) -> float:
        """The figure's mean over the seeds."""
        return statistics.fmean(self.values)


def read_runs(runs: Sequence[str | Path]) -> list[FinishedFigure]:
    """All figures of some runs of one head, in the order of their commands.

    Rows with translated files are left out: their models have seen the language, or another one.
    If several runs have the same encoder name, it is followed by the run's.
    """
    folders = [Path(run) for run in runs]
    for folder in folders:
        if sum(same_place(folder, other) for other in folders) > 1:
            raise UserError(f"the run {folder} is named twice")
    by_run = [_figures_of(folder) for folder in folders]
    cells = [cell for found in by_run for cell in found]
    for name, what in (("head", "head"), ("figure", "metric")):
        values = [getattr(cell.config, name) for cell in cells]
        for cell, got in zip(cells, values, strict=True):
            if got != values[0]:
                raise UserError(
                    f"{cell.run}: {what} must be {values[0]!r} like that of {cells[0].run}, "
                    f"got {got!r}"
                )
    if not any(cell.zero_shot for cell in cells):
        raise UserError(
            f"{', '.join(map(str, folders))}: no figure of a language that was not trained on"
        )
    rows = Counter(row for found in by_run for row in {cell.row for cell in found})
    names = Counter(folder.name for folder in folders)
    for number, cell in enumerate(cells):
        if rows[cell.row] > 1:
            run = cell.run.name if names[cell.run.name] == 1 else cell.run
            cells[number] = dataclasses.replace(cell, row=f"{cell.row} ({run})")
    return cells


def _figures_of(run: Path) -> list[FinishedFigure]:
    if not run.is_dir():
        raise UserError(f"{run}: no such folder of a run")
    if not (run / RESULTS).is_file():
        raise UserError(f"{run}: is not the folder of a finished run (no {RESULTS})")
    record = read_record(run)
    try:
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in record.config.items()}
        config = TransferOptions(**settings)
        heads.check(config.head)
        tests = {(one.name, one.lang): one.path for one in parse_tests("--test", config.test)}
        own = select(record.rows, {"part": "test", "measure": config.figure, "how": None})
        found = figures(own, "encoder", "row", "line", "source", "set", "target")
        return [
            FinishedFigure(
                *(run, config, encoder, encoder + line.removeprefix(row)),  # without the source
                *(tuple(source.split("+")), lang, tuple(values), tests[test_set, lang]),
            )
            for (encoder, row, line, source, test_set, lang), values in found.items()
        ]
    except UserError:
        raise
    except MALFORMED:
        raise UserError(
            f"{run / RESULTS}: is not of `fairseq-xling eval transfer` or `eval matrix`"
        ) from None


@dataclass(frozen=True)
class Property:
    """What figures are compared with: the verb's ``name``, and what its record says."""

    name: str
    title: str
    lead: str
    source: str
    xlabel: str  # of the plot, with its unit
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Point:
    """A figure with its property ``x``, None if unknown; ``details`` by column."""

    cell: FinishedFigure
    x: float | None
    details: Mapping[str, Any]


def write_scatter(
    output: Path, prop: Property, points: Sequence[Point], inputs: Mapping[str, Path]
) -> str:
    """Write the record of ``points``, and what is made of it, into ``output``; returns the text to
    print.

    Args:
        inputs: the files that ``points`` come from, by role, besides the runs' results.
    """
    if not any(point.cell.zero_shot and point.x is not None for point in points):
        raise UserError(f"{prop.xlabel}: unknown for all languages that were not trained on")
    metric = points[0].cell.config.figure
    rows = [
        {
            **{"row": cell.row, "source": "+".join(cell.sources), "target": cell.lang},
            **{"measure": metric, "value": cell.mean, "unit": "%", "x": point.x},
            **{"zero-shot": cell.zero_shot, "over": len(cell.values), **point.details},
        }
        for point in points
        for cell in [point.cell]
    ]
    roles = {f"run {point.cell.run}": point.cell.run / RESULTS for point in points}
    record = made(_record(prop, metric, rows), {**roles, **inputs})
    write_run(output, record)
    return f"{as_text(record)}\n\nreport: {output / PAGE}"


def _record(prop: Property, metric: str, points: Sequence[Row]) -> Record:
    """A scatter plot, every figure and its details, and correlations."""
    known = {*COLUMNS, "x", "zero-shot", "over"}
    several = len(distinct(points, "source")) > 1
    details = {name: name for name in columns_of(points) if name not in known}
    lines = {"encoder": "row", "languages": "{source}→{target}", **details}
    correlations: list[Row] = []
    for row in distinct(points, "row"):
        own = select(points, {"row": row, "zero-shot": True, "x": GIVEN})
        sides = [one["x"] for one in own], [one["value"] for one in own]
        figures_of = zip(CORRELATIONS, (len(own), *(correlation(*sides) or ())), strict=False)
        correlations += [{"row": row, "measure": name, "value": x} for name, x in figures_of]
    chart = Chart(
        "scatter",
        {"measure": metric, "zero-shot": True},
        x="x",
        label=lines["languages"] if several else "target",
        xlabel=prop.xlabel,
        ylabel=f"zero-shot {metric} (%)",
    )
    notes = [
        f"{metric} in percent, the mean over seeds and chosen settings.",
        "Plot and correlation: languages that the model was not trained on. An arrow leads from "
        "the training language. Names that do not fit in the plot are left out.",
    ]
    title = f"{metric} against the {prop.xlabel}"
    few = f"Not given for fewer than {LEAST} points, or if all are equal."
    table = Table({**lines, f"{metric} (%)": "value"}, "", {"measure": metric})
    found = Table({"encoder": "row"}, where={"measure": list(CORRELATIONS)}, order=CORRELATIONS)
    return Record(
        prop.title,
        [{"paper": "transfer", "study": prop.name, **row} for row in (*points, *correlations)],
        (
            Section(title, table, chart, [*notes, *prop.notes], name="plot"),
            Section("Correlation", found, notes=[few], name="correlation"),
        ),
        source=prop.source,
        lead=[prop.lead],
    )


def jaccard(first: Set[str], second: Set[str]) -> float:
    """The share of all members that both sets have; 0 of nothing.

    >>> jaccard({"a", "b", "c"}, {"b", "c", "d", "e"}), jaccard({"a"}, {"a"}), jaccard(set(), set())
    (0.4, 1.0, 0.0)
    """
    either = len(first | second)
    return len(first & second) / either if either else 0.0


def entity_words(path: Path, head: str, columns: str = "") -> list[str]:
    """The distinct words inside the spans of a file, in its order."""
    found: dict[str, None] = {}
    for item in formats[heads[head].format].read(path, parse_columns(columns)):
        check_bio(item)
        for number, tag in enumerate(item.every_tag or ()):
            if tag != "O":  # an I that continues nothing begins a span
                found[item.words[number]] = None
    if not found:
        raise UserError(f"{path}: has no spans")
    return list(found)


@functools.cache
def read_entities(
    path: Path, head: str, columns: str, data: Path, lang: str
) -> tuple[frozenset[str], float]:
    """The distinct subwords inside the spans of a file, as encoders that read ``data`` have them,
    and the share of the words there with an unknown one."""
    words = entity_words(path, head, columns)
    folder = DataFolder(data)
    # Words are read one by one, so nothing is cut, however few the positions.
    found = Codec(data, lang, max_positions=0).words(words)
    piece = mode_of(folder).piece
    symbols = read_dictionary(folder.dictionary_path(lang))
    ids = np.unique(np.concatenate(found))
    unknown = sum(bool((word == UNK).any()) for word in found) / len(found)
    return frozenset(piece(symbols[i]) for i in ids if i >= SPECIALS), unknown


def measure_overlap(cell: FinishedFigure) -> tuple[Point, dict[str, Path]]:
    """The overlap of a cell's test file with the files that its model was trained on, and all of
    these files by role."""
    data, test = data_folder(cell.config, cell.encoder), cell.tested
    files = parse_files("--train", ",".join(cell.config.train))
    trained = [(lang, path) for lang, path in files if lang in cell.sources]
    for path in (data, *(path for _, path in trained), test):
        if not on_disk(path).exists():
            raise UserError(
                f"{path}: no such file; the files of the run {cell.run} are relative to the folder "
                "where it was started"
            )
    how = cell.config.head, cell.config.columns, data
    first = frozenset().union(*(read_entities(path, *how, lang)[0] for lang, path in trained))
    tested, unknown = read_entities(test, *how, cell.lang)
    overlap = jaccard(first, tested)
    details = {"overlap": overlap, "shared": len(first & tested), "in train": len(first)}
    details |= {"in test": len(tested), "unknown (%)": 100 * unknown}
    roles = {f"train {path}": path for _, path in trained} | {f"test {test}": test}
    return Point(cell, overlap, details), roles | {f"data {data}": data / "meta.json"}


def run_overlap(args: argparse.Namespace) -> str:
    """The verb ``eval overlap``; returns what it prints."""
    cells = read_runs(args.runs)
    head = cells[0].config.head
    if not issubclass(heads[head], Ner):
        known = ", ".join(name for name in heads if issubclass(heads[name], Ner))
        raise UserError(
            f"{cells[0].run}: entities need a head of BIO spans ({known}), got {head!r}"
        )
    measured = [measure_overlap(cell) for cell in cells]
    inputs = {role: path for _, roles in measured for role, path in roles.items()}
    return write_scatter(Path(args.output), OVERLAP, [point for point, _ in measured], inputs)


OVERLAP = Property(
    "overlap",
    title="Zero-shot transfer and entity overlap",
    lead="Does an encoder transfer because the entities of two languages share subwords? Then its "
    "points rise to the right; if they are level, it transfers more than shared subwords.",
    source="Pires et al. (2019), Figure 2",
    xlabel="entity subword overlap (share of the union)",
    notes=(
        "Overlap: of the distinct subwords inside the spans of the training file (in train) or "
        "the test file (in test), compared by spelling, the share that both have (shared). Unknown "
        "ones are excluded.",
        "Unknown: distinct words inside the test file's spans with an unknown subword.",
    ),
)


KEY = "language"
_UNKNOWN = ("?", "-", "--", "nan")  # two unknown values must not count as equal


def shared_features(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """The numbers of features with the same value in both languages, and of those known for both.

    >>> shared_features(["SVO", "", "Adj-N", "Prep"], ["SOV", "Gen-N", "Adj-N", "Prep"])
    (2, 3)
    """
    known = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
    return sum(a == b for a, b in known), len(known)


def read_features(path: str | Path) -> dict[str, list[str]]:
    """By language its value of every feature; empty if unknown."""
    table: dict[str, list[str]] = {}
    names: list[str] = []
    for number, line in enumerate(read_lines(path), start=1):
        lang, *values = cells = [cell.strip() for cell in line.split("\t")]
        place = f"{path}:{number}"
        if number == 1:
            names = cells
            if lang != KEY or not values:
                raise UserError(
                    f"{place}: the first row must be {KEY!r} and names of features, "
                    f"tab-separated, got {line!r}"
                )
            for name in names:
                if not name or names.count(name) > 1:
                    raise UserError(f"{place}: features must have different names, got {name!r}")
            continue
        if len(cells) != len(names):
            raise UserError(f"{place}: must have {len(names)} columns, got {len(cells)}")
        if not lang:
            raise UserError(f"{place}: the language is empty")
        if lang in table:
            raise UserError(f"{place}: there is already a row of language {lang!r}")
        for name, value in zip(names[1:], values, strict=True):
            if value in _UNKNOWN:
                raise UserError(
                    f"{place}: an unknown {name!r} must be an empty cell, got {value!r}"
                )
        table[lang] = values
    if not table:
        raise UserError(f"{path}: contains no languages")
    return table


def measure_word_order(
    path: str | Path, table: Mapping[str, Sequence[str]], cells: Sequence[FinishedFigure]
) -> list[Point]:
    """A `Point` for each cell; x is None if no feature is known for both languages."""
    for cell in cells:
        if len(cell.sources) > 1:
            raise UserError(
                f"{cell.run}: must have one training language to compare the word order with, got "
                f"{', '.join(cell.sources)}"
            )
    wanted = dict.fromkeys(lang for cell in cells for lang in (*cell.sources, cell.lang))
    missing = [lang for lang in wanted if lang not in table]
    if missing:
        raise UserError(
            f"{path}: has no row of {', '.join(map(repr, missing))}; it has {', '.join(table)}"
        )
    points = []
    for cell in cells:
        shared, known = shared_features(table[cell.sources[0]], table[cell.lang])
        details = {"shared": shared, "known": known, "features": f"{shared} of {known} known"}
        points.append(Point(cell, shared if known else None, details))
    return points


def run_word_order(args: argparse.Namespace) -> str:
    """The verb ``eval word-order``; returns what it prints."""
    cells, table = read_runs(args.runs), read_features(args.features)
    points = measure_word_order(args.features, table, cells)
    size = len(next(iter(table.values())))
    prop = dataclasses.replace(WORD_ORDER, xlabel=f"shared word-order features (of {size})")
    if unknown := dict.fromkeys(point.cell.lang for point in points if point.x is None):
        note = f"Left out, as no feature is known: {', '.join(unknown)}."
        prop = dataclasses.replace(prop, notes=(*prop.notes, note))
    return write_scatter(Path(args.output), prop, points, {"features": Path(args.features)})


WORD_ORDER = Property(
    "word-order",
    title="Zero-shot transfer and word order",
    lead="Does an encoder transfer better between languages with similar word order? Then "
    "its points rise to the right.",
    source="Pires et al. (2019), Figure 3",
    xlabel="shared word-order features",
    notes=(
        "Shared: features of the table with the same value in the training and the test language; "
        "known: those with a value in both. Languages with fewer known features can share less.",
    ),
)
