"""The results of `fairseq-xling clcr classify`: kinds of sequences down, languages across."""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from fairseq_xling.core.errors import MALFORMED, UserError
from fairseq_xling.core.files import read_json
from fairseq_xling.core.provenance import machine
from fairseq_xling.papers.clcr.classify_config import VALID, ClassifyConfig, LabelledFile
from fairseq_xling.papers.transfer.transfer_result import scored_lines
from fairseq_xling.results.charts import dots
from fairseq_xling.results.frame import by_seed, figures, listed, make_frame, pivot
from fairseq_xling.results.page import (
    RESULTS,
    Measured,
    Page,
    Result,
    Table,
    caption,
    seeds_in_words,
)
from fairseq_xling.results.report import Section
from fairseq_xling.results.result import KINDS, Kind, write_results
from fairseq_xling.results.tables import text_table
from fairseq_xling.verbs.parts.probe import shown

FILES = ("results.json", "table.md", "table.csv", "plot.svg", "report.html")
SOURCE = "CLCR, 4.2"
# heading of every accuracy's table: column of the frame
_LONG = {"row": "row", "seed": "seed", "epoch": "epoch", "file": "task", "language": "target"}
_LONG |= {"accuracy": "value", "vectors": "vectors", "empty": "empty"}


def measurements(
    record: Mapping[str, Any],
    trained: Sequence[Mapping[str, Any]],
    beside: Sequence[Mapping[str, Any]] = (),
) -> pandas.DataFrame:
    """A row for each classifier and file, and for each epoch's accuracy on the dev file, in
    percent; those of other runs, as `lines_beside` has them, come first.

    ``task`` is a file, ``vectors`` how many its sentences have in the mean, ``empty`` how many
    sentences have none.
    """
    languages, always = dict(record["tests"]), record["majority"]["accuracy"]

    def about(file: str) -> dict[str, Any]:
        found = {"task": file, "target": languages.get(file, record["source"])}
        return {**found, "measure": "accuracy", "chance": always.get(file)}

    rows = [{**one, **about(one["task"]), "beside": True} for one in beside]
    for one in trained:
        of = {"row": one["row"], "seed": one["seed"], "beside": False}
        for file in one["empty"]:
            counts = {"vectors": one["vectors"][file], "empty": one["empty"][file]}
            value = one["accuracy"].get(file)
            rows.append({**of, **about(file), **counts, "epoch": one["epoch"], "value": value})
        for epoch, value in enumerate(one.get("dev", ()), 1):
            rows.append({**of, "measure": "dev accuracy", "epoch": epoch, "value": value})
    return make_frame(rows, paper="clcr", unit="%")


def accuracies(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The rows of files that have labels."""
    return frame[(frame["measure"] == "accuracy") & frame["value"].notna()]


def shown_figures(record: Mapping[str, Any], frame: pandas.DataFrame) -> pandas.DataFrame:
    """The cells of the table by ``row`` and ``column``: accuracies of the most frequent label, of
    other runs and of what was trained; and by how much each is behind the source's, seed by seed.
    """
    always, languages, source = record["majority"], dict(record["tests"]), record["source"]
    columns = {VALID: "dev", **{file: shown(languages, file) for file in languages}}
    label, cells = f"always {always['label']}", accuracies(frame).to_dict("records")
    cells = [{"row": label, "task": x, "value": v} for x, v in always["accuracy"].items()] + cells
    for one in cells:
        one |= {"column": columns[one["task"]], "target": languages.get(one["task"], source)}
    own = make_frame(x for x in cells if x["target"] == source and x["task"] != VALID)
    best = by_seed(own, "row")
    gaps = [
        {**one, "column": f"gap {one['column']}", "value": found[one.get("seed")] - one["value"]}
        for one in cells
        if one["target"] != source and one.get("seed") in (found := best.get((one["row"],), {}))
    ]
    return make_frame([*cells, *gaps])


def table(record: Mapping[str, Any], cells: pandas.DataFrame) -> Table:
    """Means over seeds with deviations; a column for each test file, and one for its gap."""
    files = ["dev", *(shown(dict(record["tests"]), file) for file, _ in record["tests"])]
    known = {*cells["column"]}
    order = [name for name in (*files, *(f"gap {file}" for file in files)) if name in known]
    return pivot(cells, {"row": "row"}, "column", order=order, digits=1)


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


def read_beside(runs: Sequence[str], called: str = "") -> list[pandas.DataFrame]:
    """The accuracies of finished runs of `eval transfer`; ``line`` is the model's name.

    Args:
        called: the name of its only model, or what those of several begin with (`--baseline`).
    """
    option = "--baseline" if called else "--beside"
    found = []
    for run in runs:
        path = Path(run) / RESULTS
        if not path.is_file():
            raise UserError(
                f"`{option}` {run}: is not the folder of a finished run (no {path.name})"
            )
        record = read_json(path)
        try:
            metric, frame = record["metric"], Result(path, record).frame
            about = frame[["encoder", "how"]].itertuples(index=False, name=None)
            own = [", ".join(filter(None, one)) for one in about]
            alone = frame["row"].nunique() == 1
            names = [called if called and alone else f"{called}: {one}" for one in own]
            lines = scored_lines(frame.assign(name=names if called else own), metric, "name")
        except MALFORMED:
            raise UserError(
                f"{path}: contains no results of `fairseq-xling eval transfer`"
            ) from None
        if metric != "accuracy":
            raise UserError(f"{path}: must be of accuracy, got {metric}")
        found.append(lines)
    return found


def lines_beside(
    beside: Sequence[pandas.DataFrame], files: Sequence[LabelledFile]
) -> list[dict[str, Any]]:
    """Their accuracies in the languages of the table, each under the single file of it.

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
        {"row": line, "task": by_language[lang], "seed": seed, "value": value}
        for lines in beside
        for (line, lang), values in by_seed(lines, "line", "target").items()
        if lang in by_language
        for seed, value in values.items()
    ]


def write_classified(
    output: Path,
    config: ClassifyConfig,
    files: Sequence[LabelledFile],
    results: Sequence[Mapping[str, Any]],
    majority: tuple[str, Mapping[str, float]],
    beside: Sequence[pandas.DataFrame],
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
    }
    frame = measurements(record, results, lines_beside(beside, tests))
    write_results(ClcrClassify, output, record, inputs, frame=frame)
    print(text_table(*table(record, shown_figures(record, frame))))
    notes = _notes(config.seeds, record["source"], frame)
    print("\n".join(f"({note})" for note in [*notes, machine()]))
    print(f"written to {output}: {', '.join(FILES)}, predictions/")


@KINDS.register("clcr-classify")
class ClcrClassify(Kind):
    """Accuracy of each row by language, and the gap in points."""

    name = "clcr-classify"

    def page(self, result: Result) -> Page:
        record, frame, seeds = result.record, result.frame, result.record["config"]["seeds"]
        cells = shown_figures(record, frame)
        header, rows = table(record, cells)
        notes = [*_notes(seeds, record["source"], frame), result.machine]
        own = accuracies(frame)
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
                    figure=partial(_draw, record, cells),
                    notes=caption(result, SOURCE, seeds_in_words(seeds, "dots")),
                    name="plot",
                ),
            ],
            tables={"table": listed(own[~own["beside"].astype(bool)], _LONG)},
            measured=list(_measured(cells)),
        )


def _draw(record: Mapping[str, Any], cells: pandas.DataFrame) -> Figure:
    """Every seed of every row, a panel for each test file."""
    always, *names = dict.fromkeys(cells["row"])
    places = {file: place for place, (file, _) in enumerate(record["tests"])}
    tested = cells["task"].isin(places) & (cells["row"] != always)
    drawn = cells[tested & ~cells["column"].str.startswith("gap ")]
    drawn = drawn.sort_values("task", key=lambda files: files.map(places), kind="stable")
    title = lambda own: own["column"].iat[0]  # noqa: E731
    return dots(drawn, "accuracy (%)", panel="task", title=title, chance=always, rows=names)


def _measured(cells: pandas.DataFrame) -> Iterator[Measured]:
    """Of the last row, which is the whole pipeline, accuracy and gap."""
    *_, row = dict.fromkeys(cells["row"])
    own = cells[(cells["row"] == row) & (cells["task"] != VALID)]
    for (column, lang, _), values in figures(own, "column", "target", "task").items():
        what = "gap (points) of" if column.startswith("gap ") else "accuracy (%) in"
        yield Measured("C15", f"{what} {lang}, {row}", statistics.fmean(values))


def _notes(seeds: str, source: str, frame: pandas.DataFrame) -> list[str]:
    many = "," in seeds
    spread = f"{'mean ± standard deviation over seeds' if many else 'seed'} {seeds}"
    found = [
        f"accuracy in percent, {spread}; trained on {source}, the epoch selected on its dev file",
        f"gap: points behind {source}, of the same seed",
    ]
    empty = figures(frame.assign(value=frame["empty"]), "row", "task")
    for (row, name), counts in empty.items():
        least, most = int(min(counts)), int(max(counts))
        number = f"{most:,}" if least == most else f"{least:,} to {most:,}, by seed, of the"
        if most:
            found.append(
                f"{row}, {name}: {number} sentences kept no key-point and are a zero vector"
            )
    return found
