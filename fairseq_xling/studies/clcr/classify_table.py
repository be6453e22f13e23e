"""The table of `fairseq-xling clcr classify`: kinds of sequences down, languages across."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json, write_json
from fairseq_xling.provenance import machine
from fairseq_xling.runs.figure_file import write_figure
from fairseq_xling.runs.figures import DotPanel, draw_dots
from fairseq_xling.runs.statistics import mean_and_spread
from fairseq_xling.runs.tables import text_table, write_csv, write_markdown
from fairseq_xling.studies.clcr.classify_config import VALID, ClassifyConfig, LabelledFile
from fairseq_xling.studies.transfer.table import lines_of
from fairseq_xling.verbs.parts.probing_table import shown

TITLE = "Inference on frozen sequences"
LONG = ["row", "seed", "epoch", "file", "language", "accuracy", "vectors", "empty"]


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: accuracy in percent of every seed, by test file; ``dev`` likewise."""

    name: str
    values: Mapping[str, Sequence[float]]
    dev: Sequence[float] = ()


def lines_of_rows(results: Sequence[Mapping[str, Any]]) -> list[Line]:
    """A line for each row, over its seeds."""
    found = []
    for name in dict.fromkeys(one["row"] for one in results):
        own = [one for one in results if one["row"] == name]
        files = [file for file in own[0]["accuracy"] if file != VALID]
        values = {file: [one["accuracy"][file] for one in own] for file in files}
        found.append(Line(name, values, [one["accuracy"][VALID] for one in own]))
    return found


def gaps(
    values: Mapping[str, Sequence[float]], languages: Mapping[str, str], source: str
) -> dict[str, list[float]]:
    """The gap in points of each file of another language to the source's, for every seed.

    >>> found = gaps({"en": [80.0, 82.0], "zh": [71.0, 74.0]}, {"en": "en", "zh": "zh"}, "en")
    >>> found
    {'zh': [9.0, 8.0]}
    """
    own = [values[file] for file in values if languages[file] == source]
    if not own:
        return {}
    base = [statistics.fmean(seed) for seed in zip(*own, strict=True)]
    return {
        file: [b - x for b, x in zip(base, found, strict=True)]
        for file, found in values.items()
        if languages[file] != source and len(found) == len(base)
    }


def table(
    lines: Sequence[Line], files: Sequence[LabelledFile], source: str
) -> tuple[list[str], list[list[Any]]]:
    """Means over seeds with deviations; a column for each test file, and one for its gap."""
    languages = {file.name: file.lang for file in files}
    called = {name: shown(languages, name) for name in languages}
    scored = [name for name in languages if any(name in line.values for line in lines)]
    gapped = [name for name in scored if languages[name] != source]
    gapped = gapped if any(languages[name] == source for name in scored) else []
    header = ["row", "dev", *(called[name] for name in scored)]
    header += [f"gap {called[name]}" for name in gapped]
    rows: list[list[Any]] = []
    for line in lines:
        behind = gaps(line.values, languages, source)
        cells = [line.dev, *(line.values.get(name) for name in scored)]
        cells += [behind.get(name) for name in gapped]
        rows.append([line.name, *(_cell(values) for values in cells)])
    return header, rows


def _cell(values: Sequence[float] | None) -> str | None:
    return mean_and_spread(values, 1) if values else None


def read_beside(runs: Sequence[str]) -> list[tuple[str, Sequence[str], Mapping[str, Any]]]:
    """The models of finished runs of `eval transfer`: name, languages trained on, results.

    Raises:
        UserError: for a run that is not finished, or that measured something other than accuracy.
    """
    found = []
    for run in runs:
        path = Path(run) / "results.json"
        if not path.is_file():
            raise UserError(
                f"`--beside` {run}: is not the folder of a finished run (no {path.name})"
            )
        record = read_json(path)
        try:
            metric = record["metric"]
            models = [
                (", ".join(filter(None, (one["encoder"], one["how"]))), one["sources"], one)
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


def lines_beside(
    beside: Sequence[tuple[str, Sequence[str], Mapping[str, Any]]], files: Sequence[LabelledFile]
) -> list[Line]:
    """Their rows: figures of languages in the table, under the single file of each.

    Raises:
        UserError: if a language has several files, since a run names only languages.
    """
    by_language: dict[str, str] = {}
    for file in files if beside else ():
        if file.lang in by_language:
            raise UserError(
                f"`--beside` has one figure for {file.lang}, but `--test` names two files of it: "
                f"{by_language[file.lang]} and {file.name}"
            )
        by_language[file.lang] = file.name
    return [
        Line(line.name, {by_language[x]: v for x, v in line.values.items() if x in by_language})
        for name, sources, result in beside
        for line in lines_of(name, sources, result)
    ]


def write_table(
    output: Path,
    config: ClassifyConfig,
    files: Sequence[LabelledFile],
    results: Sequence[Mapping[str, Any]],
    majority: tuple[str, Mapping[str, float]],
    beside: Sequence[tuple[str, Sequence[str], Mapping[str, Any]]],
    origin: Mapping[str, Any],
) -> None:
    """Write ``results.json``, ``table.md``, ``table.csv`` and ``plot.svg``; print the table.

    Args:
        files: the run's labelled files: training, validation, tests.
        majority: the most frequent training label, and what predicting it always scores by file.
    """
    tests, source = files[2:], files[0].lang
    label, chance = majority
    always = Line(f"always {label}", {k: [v] for k, v in chance.items() if k != VALID},
                  [chance[VALID]])  # fmt: skip
    trained = lines_of_rows(results)
    lines = [always, *lines_beside(beside, tests), *trained]
    header, rows = table(lines, tests, source)
    notes = _notes(config, source, results)
    record = {
        "title": TITLE,
        "source": source,
        "languages": {file.name: file.lang for file in tests},
        "config": dataclasses.asdict(config),
        "header": header,
        "rows": rows,
        "notes": notes,
        "majority": {"label": label, "accuracy": chance},
        "classified": list(results),
        "provenance": origin,
    }
    write_markdown(output / "table.md", header, rows, notes)
    write_csv(output / "table.csv", LONG, list(long_rows(record)))
    write_figure(output / "plot.svg", dots(record))
    write_json(output / "results.json", record)
    print(text_table(header, rows))
    print("\n".join(f"({note})" for note in notes))
    print(f"written to {output}: results.json, table.md, table.csv, plot.svg, predictions/")


def dots(record: Mapping[str, Any]) -> Any:
    """The figure of a record: every seed of every row, a panel for each test file."""
    lines, languages = lines_of_rows(record["classified"]), record["languages"]
    scored = [name for name in languages if any(name in line.values for line in lines)]
    majority = record["majority"]
    return draw_dots(
        [
            DotPanel(
                [line.name for line in lines],
                [line.values.get(name, []) for line in lines],
                xlabel="accuracy (%)",
                title=shown(languages, name),
                chance=(majority["accuracy"][name], f"always {majority['label']}"),
            )
            for name in scored
        ]
    )


def long_rows(record: Mapping[str, Any]) -> Any:
    """A line for each row, seed and file; errors in a record are KeyErrors."""
    for one in record["classified"]:
        for name, value in one["accuracy"].items():
            lang = record["languages"].get(name, record["source"])
            about = [one["row"], one["seed"], one["epoch"], name, lang]
            yield [*about, value, one["vectors"][name], one["empty"][name]]


def _notes(config: ClassifyConfig, source: str, results: Sequence[Mapping[str, Any]]) -> list[str]:
    seeds = config.seeds.split(",")
    spread = f"mean ± standard deviation over seeds {config.seeds}" if len(seeds) > 1 else (
        f"seed {config.seeds}"
    )  # fmt: skip
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
    return [*found, machine()]
