"""The results of `fairseq-xling clcr classify`: kinds of sequences down, languages across."""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json
from fairseq_xling.papers.clcr.classify_config import VALID, ClassifyConfig, LabelledFile
from fairseq_xling.papers.transfer.transfer_result import lines_of
from fairseq_xling.provenance import machine
from fairseq_xling.results.figures import DotPanel, draw_dots
from fairseq_xling.results.page import Measured, Page, Result, Table, caption, seeds_in_words
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.statistics import OverSeeds
from fairseq_xling.results.tables import text_table
from fairseq_xling.verbs.parts.probe_result import shown

FILES = ("results.json", "table.md", "table.csv", "plot.svg", "report.html")
SOURCE = "CLCR, 4.2"
LONG = ["row", "seed", "epoch", "file", "language", "accuracy", "vectors", "empty"]


def lines_of_record(record: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Sequence[float]]]]:
    """The rows of the table, each with the accuracies in percent of every seed, by file: the most
    frequent label, rows of other runs, and the trained rows."""
    always, trained = record["majority"], record["classified"]
    lines = [(f"always {always['label']}", {x: [v] for x, v in always["accuracy"].items()})]
    lines += [(one["row"], one["accuracy"]) for one in record["beside"]]
    for name in dict.fromkeys(one["row"] for one in trained):
        own = [one["accuracy"] for one in trained if one["row"] == name]
        lines.append((name, {file: [one[file] for one in own] for file in own[0]}))
    return lines


def gaps(
    values: Mapping[str, Sequence[float]], languages: Mapping[str, str], source: str
) -> dict[str, list[float]]:
    """The gap in points of each test file of another language to the source's, for every seed.

    >>> gaps({"en": [80.0, 82.0], "zh": [71.0, 74.0]}, {"en": "en", "zh": "zh"}, "en")
    {'zh': [9.0, 8.0]}
    """
    own = [values[file] for file in values if languages.get(file) == source]
    base = [statistics.fmean(seed) for seed in zip(*own, strict=True)]
    return {
        file: [b - x for b, x in zip(base, found, strict=True)]
        for file, found in values.items()
        if own and languages.get(file, source) != source and len(found) == len(base)
    }


def table(record: Mapping[str, Any]) -> Table:
    """Means over seeds with deviations; a column for each test file, and one for its gap."""
    lines, languages, source = lines_of_record(record), dict(record["tests"]), record["source"]
    scored = [name for name in languages if any(name in values for _, values in lines)]
    gapped = [name for name in scored if languages[name] != source]
    gapped = gapped if any(languages[name] == source for name in scored) else []
    header = ["row", "dev", *(shown(languages, name) for name in scored)]
    header += [f"gap {shown(languages, name)}" for name in gapped]
    rows: list[list[Any]] = []
    for row, values in lines:
        behind = gaps(values, languages, source)
        cells = [values.get(name, ()) for name in (VALID, *scored)]
        cells += [behind.get(name, ()) for name in gapped]
        rows.append([row, *(OverSeeds.of(found, 1) for found in cells)])
    return header, rows


def named_runs(texts: Sequence[str]) -> dict[str, str]:
    """Runs by name, from ``NAME=RUN``.

    >>> named_runs(["mBERT=runs/mbert"])
    {'mBERT': 'runs/mbert'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, run = text.partition("=")
        if not (name and run):
            raise UserError(f"`--baseline` must look like NAME=RUN, got {text!r}")
        if name in found:
            raise UserError(f"`--baseline` names {name!r} twice")
        found[name] = run
    return found


def read_beside(
    runs: Sequence[str], called: str = ""
) -> list[tuple[str, Sequence[str], Mapping[str, Any]]]:
    """The models of finished runs of `eval transfer`: name, languages trained on, results.

    Args:
        called: the name of its only model, or what those of several begin with (`--baseline`).
    """
    option = "--baseline" if called else "--beside"
    found = []
    for run in runs:
        path = Path(run) / "results.json"
        if not path.is_file():
            raise UserError(
                f"`{option}` {run}: is not the folder of a finished run (no {path.name})"
            )
        record = read_json(path)
        try:
            metric = record["metric"]
            models = [
                (_model_name(one, called, len(record["results"])), one["sources"], one)
                for one in record["results"]
            ]
        except MALFORMED:
            raise UserError(
                f"{path}: contains no results of `fairseq-xling eval transfer`"
            ) from None
        if metric != "accuracy":
            raise UserError(f"{path}: must be of accuracy, got {metric}")
        found += models
    return found


def _model_name(model: Mapping[str, Any], called: str, models: int) -> str:
    own = ", ".join(filter(None, (model["encoder"], model["how"])))
    if not called:
        return own
    return called if models == 1 else f"{called}: {own}"


def lines_beside(
    beside: Sequence[tuple[str, Sequence[str], Mapping[str, Any]]], files: Sequence[LabelledFile]
) -> list[dict[str, Any]]:
    """Their rows: figures of languages in the table, under the single file of each.

    Raises:
        UserError: if a language has several files, since a run names only languages.
    """
    by_language: dict[str, str] = {}
    for file in files if beside else ():
        if file.lang in by_language:
            raise UserError(
                f"a run next to the table has one figure for {file.lang}, but `--test` names two "
                f"files of it: {by_language[file.lang]} and {file.name}"
            )
        by_language[file.lang] = file.name
    return [
        {
            "row": line.name,
            "accuracy": {by_language[x]: v for x, v in line.values.items() if x in by_language},
        }
        for name, sources, result in beside
        for line in lines_of(name, sources, result)
    ]


def write_classified(
    output: Path,
    config: ClassifyConfig,
    files: Sequence[LabelledFile],
    results: Sequence[Mapping[str, Any]],
    majority: tuple[str, Mapping[str, float]],
    beside: Sequence[tuple[str, Sequence[str], Mapping[str, Any]]],
    inputs: Mapping[str, Path],
) -> None:
    """Write `FILES` into ``output``; print the table.

    Args:
        files: the run's labelled files: training, validation, tests.
        majority: the most frequent training label, and what predicting it always scores by file.
    """
    tests, (label, chance) = files[2:], majority
    record = {
        "source": files[0].lang,
        "tests": [[file.name, file.lang] for file in tests],
        "config": dataclasses.asdict(config),
        "majority": {"label": label, "accuracy": chance},
        "beside": lines_beside(beside, tests),
        "classified": results,
    }
    write_results(ClcrClassify, output, record, inputs)
    print(text_table(*table(record)))
    notes = _notes(config.seeds, record["source"], results)
    print("\n".join(f"({note})" for note in [*notes, machine()]))
    print(f"written to {output}: {', '.join(FILES)}, predictions/")


@KINDS.register("clcr-classify")
class ClcrClassify(Kind):
    """Accuracy of each row by language, and the gap in points."""

    name = "clcr-classify"

    def page(self, result: Result) -> Page:
        record, seeds = result.record, result.record["config"]["seeds"]
        header, rows = table(record)
        notes = [*_notes(seeds, record["source"], record["classified"]), result.machine]
        return Page(
            title="Inference on frozen sequences",
            source=SOURCE,
            lead=[
                "An ESIM reads frozen sequences of vectors; it was trained on one language, its "
                "epoch selected on that language's dev file, and saw no labels of another.",
            ],
            sections=[
                Section("Table", header=header, rows=rows, notes=notes, name="table"),
                Section(
                    "Accuracy",
                    figure=partial(draw_dots, _panels(record)),
                    notes=caption(result, SOURCE, seeds_in_words(seeds, "dots")),
                    name="plot",
                ),
            ],
            tables={"table": (LONG, list(_long_rows(record)))},
            measured=list(_measured(record)),
        )


def _panels(record: Mapping[str, Any]) -> list[DotPanel]:
    """Every seed of every row, a panel for each test file."""
    languages, majority = dict(record["tests"]), record["majority"]
    lines = lines_of_record(record)[1:]
    return [
        DotPanel(
            [row for row, _ in lines],
            [values.get(name, []) for _, values in lines],
            xlabel="accuracy (%)",
            title=shown(languages, name),
            chance=(majority["accuracy"][name], f"always {majority['label']}"),
        )
        for name in languages
        if any(name in values for _, values in lines)
    ]


def _long_rows(record: Mapping[str, Any]) -> Iterator[list[Any]]:
    """A line for each row, seed and file."""
    languages = dict(record["tests"])
    for one in record["classified"]:
        for name, value in one["accuracy"].items():
            about = [one["row"], one["seed"], one["epoch"], name]
            lang = languages.get(name, record["source"])
            yield [*about, lang, value, one["vectors"][name], one["empty"][name]]


def _measured(record: Mapping[str, Any]) -> Iterator[Measured]:
    """Of the last row, which is the whole pipeline, accuracy and gap."""
    *_, (row, values) = lines_of_record(record)
    languages = dict(record["tests"])
    for name, found in values.items():
        if name != VALID:
            what = f"accuracy (%) in {languages[name]}, {row}"
            yield Measured("C15", what, statistics.fmean(found))
    for name, found in gaps(values, languages, record["source"]).items():
        what = f"gap (points) of {languages[name]}, {row}"
        yield Measured("C15", what, statistics.fmean(found))


def _notes(seeds: str, source: str, results: Sequence[Mapping[str, Any]]) -> list[str]:
    many = "," in seeds
    spread = f"{'mean ± standard deviation over seeds' if many else 'seed'} {seeds}"
    found = [
        f"accuracy in percent, {spread}; trained on {source}, the epoch selected on its dev file",
        f"gap: points behind {source}, of the same seed",
    ]
    empty: dict[tuple[str, str], list[int]] = {}
    for one in results:
        for name, count in one["empty"].items():
            empty.setdefault((one["row"], name), []).append(count)
    for (row, name), counts in empty.items():
        least, most = min(counts), max(counts)
        number = f"{most:,}" if least == most else f"{least:,} to {most:,}, by seed, of the"
        if most:
            found.append(
                f"{row}, {name}: {number} sentences kept no key-point and are a zero vector"
            )
    return found
