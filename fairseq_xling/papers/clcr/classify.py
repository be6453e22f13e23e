"""The verb ``clcr classify``: ESIM on frozen sequences, trained in one language, tested in others.

CLCR, section 4.2: kinds of sequences down (T, T+E, T+E+R, T+pGA), languages across, with the gap of
each target language to the one trained on.
"""

import argparse
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive, read_json, sha256, write_json
from fairseq_xling.core.folders import META, claim
from fairseq_xling.core.options import part_of
from fairseq_xling.core.progress import progress
from fairseq_xling.core.provenance import machine
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.papers.clcr.labelled import (
    SIDES,
    TRAIN,
    VALID,
    ClassifyConfig,
    LabelledFile,
    labelled_files,
    labelled_pairs,
)
from fairseq_xling.papers.clcr.rows import RowFolders, parse_rows
from fairseq_xling.papers.clcr.sequences import (
    Sequences,
    check_same_sentences,
    check_same_width,
    sequences_of,
)
from fairseq_xling.reports.page import parts, write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Chart, Record, Section, made, read_record
from fairseq_xling.reports.rows import GIVEN, Row, by_seed, distinct, figures, select
from fairseq_xling.reports.tables import text_table
from fairseq_xling.tasks.esim import Esim, EsimOptions, Trained, fit_pairs
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.items import parse_columns
from fairseq_xling.verbs.parts.probe import shown
from fairseq_xling.workflow.options import load_config, parse_seeds

FILES = (RESULTS, "table.md", "table.csv", "plot.svg", "report.html")


@dataclasses.dataclass(frozen=True)
class Pairs:
    """Premise n with hypothesis n, and the number of its label.

    Attributes:
        labels: (N,) int64, -1 if the label is unknown, or not among those trained on.
    """

    premises: Sequences
    hypotheses: Sequences
    labels: np.ndarray

    def __post_init__(self) -> None:
        check_same_sentences(self.premises, self.hypotheses)
        if len(self.labels) != self.premises.sentences:
            raise UserError(
                f"{self.premises.path}: must have a sentence for each of {len(self.labels)} "
                f"labelled pairs, got {self.premises.sentences}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def path(self) -> Path:
        return self.premises.path

    @property
    def sizes(self) -> np.ndarray:
        """(N,), the number of vectors of premise and hypothesis together."""
        return self.premises.counts + self.hypotheses.counts

    def inputs(self, chosen: np.ndarray, device: torch.device) -> tuple[Tensor, ...]:
        """The inputs of `Esim` for some pairs."""
        found = (*self.premises.batch(chosen), *self.hypotheses.batch(chosen))
        return tuple(one.to(device) for one in found)


def fit_esim(
    train: Pairs,
    dev: Pairs,
    classes: int,
    options: EsimOptions,
    device: str | torch.device = "cpu",
    passed: Callable[[float], object] = lambda accuracy: None,
) -> Trained:
    """Train an `Esim` of so many ``classes`` on ``train``; see `fit_pairs`."""
    sizes = {name: getattr(options, name) for name in ("projection", "hidden", "dropout")}
    network = functools.partial(Esim, train.premises.width, classes, **sizes)
    return fit_pairs(network, train, dev, options, device, passed)


# A file with its labels: one for each pair, None if there is none.
Labelled = tuple[LabelledFile, list[str | None]]


def run_classify(args: argparse.Namespace) -> None:
    """See `fairseq_xling.papers.clcr.commands.clcr_classify`."""
    o, output = load_config(ClassifyConfig, args), Path(args.output)
    seeds = parse_seeds("--seeds", o.seeds)
    options = [part_of(EsimOptions, o, seed=seed) for seed in seeds]
    rows = parse_rows("--vectors", o.vectors, ("side",))
    usable_device(o.device)
    files = labelled_files(o.train, o.valid, o.test)
    labelled: list[Labelled] = []
    for file in files:
        labels = [item.label for item in labelled_pairs(file.path, o.format, o.columns)]
        if file.name in (TRAIN, VALID) and not any(labels):
            raise UserError(f"{file.path}: has no labels to learn from")
        labelled.append((file, labels))
    names = sorted({label for label in labelled[0][1] if label is not None})
    if len(names) < 2:
        raise UserError(
            f"{files[0].path}: must have at least 2 labels, got {', '.join(names) or 0}"
        )
    used: dict[str, Path] = {file.name: file.path for file in files}
    for row in rows:
        for seed in row.differing(seeds):
            _open(row, labelled, names, seed)  # raises for missing or damaged files
            for file, (side, folder) in _folders(row, files, seed):
                used[f"{row.name} {file.name} {side}, seed {seed}"] = folder / META
    runs = runs_beside(o)
    beside = rows_beside(runs, files[2:])
    used |= {f"run {run}": Path(run) / RESULTS for _, run in runs}
    claim(output, {"files": {file.name: sha256(file.path) for file in files}})
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        found = [_result(row, labelled, names, one, o, output) for row in rows for one in options]
        measured = measurements(files, found, _majority(labelled), beside)
        record = made(classify_record(measured, o), used)
        write_run(output, record)
        table, *_ = parts(record)
        print(text_table(*table.shown))
        print("\n".join(f"({note})" for note in [*table.section.notes, machine()]))
        print(f"written to {output}: {', '.join(FILES)}, predictions/")


def _folders(
    row: RowFolders, files: Iterable[LabelledFile], seed: int
) -> list[tuple[LabelledFile, tuple[str, Path]]]:
    """The sides of each labelled file, and the folders of their sequences."""
    return [
        (file, (side, row.folder(file.path, file.lang, seed, side=side)))
        for file, side in product(files, SIDES)
    ]


def _open(
    row: RowFolders, labelled: Sequence[Labelled], names: Sequence[str], seed: int
) -> list[Pairs]:
    """The pairs of every file as the row's sequences, mapped."""
    numbers = {name: number for number, name in enumerate(names)}
    found: list[Pairs] = []
    for file, known in labelled:
        folders = [folder for _, (_, folder) in _folders(row, [file], seed)]
        labels = np.array([numbers.get(label or "", -1) for label in known], dtype=np.int64)
        found.append(Pairs(*(sequences_of(x, file.lang, file.path) for x in folders), labels))
        check_same_width(found[0].premises, found[-1].premises)
    return found


def _result(
    row: RowFolders,
    labelled: Sequence[Labelled],
    names: Sequence[str],
    options: EsimOptions,
    o: ClassifyConfig,
    output: Path,
) -> dict[str, Any]:
    """The scores of one training, from its file if it exists; predictions are next to it."""
    folders = _folders(row, (file for file, _ in labelled), options.seed)
    origin = sorted((f"{x.name} {side}", sha256(place / META)) for x, (side, place) in folders)
    # The last two determine which labels are learnt.
    text = repr((row.name, dataclasses.asdict(options), origin, (o.columns, o.format)))
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    name = f"{row.code}-seed{options.seed}-{digest}"
    path = output / "trained" / f"{name}.json"
    if path.is_file():
        return read_json(path)
    pairs = _open(row, labelled, names, options.seed)
    with progress(options.epochs, f"{row.name} seed {options.seed}", "epochs") as bar:

        def passed(accuracy: float) -> None:
            bar.set_postfix_str(f"dev {100 * accuracy:.1f} %", refresh=False)
            bar.update()

        trained = fit_esim(*pairs[:2], len(names), options, o.device, passed)
    result = {"row": row.name, "seed": options.seed, "options": dataclasses.asdict(options)}
    result |= {"epoch": trained.epoch, "dev": [100 * accuracy for accuracy in trained.curve]}
    result |= {"accuracy": {}, "vectors": {}, "empty": {}}
    form, columns = find_format("tsv", o.format), parse_columns(o.columns)
    for (file, labels), own in zip(labelled[1:], pairs[1:], strict=True):
        predicted = [names[number] for number in trained.predict(own)]
        result["vectors"][file.name] = float(own.sizes.mean()) / 2
        empty = (own.premises.counts == 0).sum() + (own.hypotheses.counts == 0).sum()
        result["empty"][file.name] = int(empty)
        scored = [p == label for p, label in zip(predicted, labels, strict=True) if label]
        if scored:
            result["accuracy"][file.name] = 100 * sum(scored) / len(scored)
        if file.name != VALID:  # predictions instead of the labels of the file
            place = output / "predictions" / name / file.name.removesuffix(".gz")
            form.write(place, list(form.read(file.path, columns)), predicted, columns)
    write_json(path, result)
    return read_json(path)  # as a later call reads it


def _majority(labelled: Sequence[Labelled]) -> tuple[str, Mapping[str, float]]:
    """The most frequent training label (of equally frequent ones the first by name), and the
    accuracy of always predicting it, in percent, by file."""
    train = [label for label in labelled[0][1] if label is not None]
    most = min(set(train), key=lambda label: (-train.count(label), label))
    found = {}
    for file, labels in labelled[1:]:
        if known := [label for label in labels if label is not None]:
            found[file.name] = 100 * known.count(most) / len(known)
    return most, found


def runs_beside(config: ClassifyConfig) -> list[tuple[str, str]]:
    """Names and folders of finished runs of `eval transfer`; those of `--beside` have no name.

    >>> runs_beside(ClassifyConfig(baseline=("mBERT=runs/mbert",)))
    [('mBERT', 'runs/mbert')]
    """
    found = [("", run) for run in config.beside]
    for text in config.baseline:
        name, _, run = text.partition("=")
        if not (name and run):
            raise UserError(f"`--baseline` must look like NAME=RUN, got {text!r}")
        if name in [other for other, _ in found]:
            raise UserError(f"`--baseline` names {name!r} twice")
        found.append((name, run))
    return found


def rows_beside(
    runs: Sequence[tuple[str, str]], tests: Sequence[LabelledFile]
) -> list[dict[str, Any]]:
    """The accuracies of `runs_beside` in the languages of ``tests``, each under the single file of
    it.

    Raises:
        UserError: if a language has several files, since a run names only languages.
    """
    by_language: dict[str, str] = {}
    for file in tests if runs else ():
        if file.lang in by_language:
            raise UserError(
                f"a run next to the table has one figure for {file.lang}, but `--test` names two "
                f"files of it: {by_language[file.lang]} and {file.name}"
            )
        by_language[file.lang] = file.name
    rows = []
    for called, run in runs:
        path = Path(run) / RESULTS
        if not path.is_file():
            option = "--baseline" if called else "--beside"
            raise UserError(
                f"`{option}` {run}: is not the folder of a finished run (no {path.name})"
            )
        record = read_record(path)
        metric = record.facts.get("metric")
        own = select(record.rows, {"part": "test", "measure": metric, "target": GIVEN})
        if metric is None or not own:
            raise UserError(f"{path}: contains no results of `fairseq-xling eval transfer`")
        if metric != "accuracy":
            raise UserError(f"{path}: must be of accuracy, got {metric}")
        alone = len(distinct(own, "row")) == 1
        for (row, line, lang), seeds in by_seed(own, "row", "line", "target").items():
            name = line
            if called:
                name = called + line.removeprefix(row) if alone else f"{called}: {line}"
            if lang in by_language:
                about = {"row": name, "task": by_language[lang], "beside": True}
                rows += [{**about, "seed": seed, "value": value} for seed, value in seeds.items()]
    return rows


def measurements(
    files: Sequence[LabelledFile],
    trained: Sequence[Mapping[str, Any]],
    majority: tuple[str, Mapping[str, float]],
    others: Sequence[Row] = (),
) -> list[Row]:
    """A row for the accuracy in percent of each classifier in each file, after those of the most
    frequent label and of other runs; then, for each file in another language, by how much it is
    behind the source's of the same seed; and for each epoch's accuracy on the dev file.

    ``task`` is a file, ``column`` its heading, ``vectors`` how many its sentences have in the mean,
    ``empty`` how many sentences have none.

    Args:
        files: the run's labelled files: training, validation, tests.
        majority: the most frequent training label, and what predicting it always scores by file.
        others: of `rows_beside`.
    """
    source, tests = files[0].lang, {file.name: file.lang for file in files[2:]}
    label, chance = majority

    def about(name: str) -> dict[str, Any]:
        column = "dev" if name == VALID else shown(tests, name)
        of = {"source": source, "target": tests.get(name, source), "task": name, "column": column}
        return {**of, "measure": "accuracy", "unit": "%", "chance": chance.get(name)}

    names = [VALID, *tests]
    rows: list[dict[str, Any]] = [
        {**about(name), "row": f"always {label}", "value": chance[name]}
        for name in names
        if name in chance
    ]
    lines = distinct(others, "row")
    place = lambda row: (lines.index(row["row"]), names.index(row["task"]))  # noqa: E731
    rows += [{**about(row["task"]), **row} for row in sorted(others, key=place)]
    for one in trained:
        of = {"row": one["row"], "seed": one["seed"]}
        for name in filter(one["empty"].__contains__, names):
            counts = {"vectors": one["vectors"][name], "empty": one["empty"][name]}
            value = one["accuracy"].get(name)
            rows.append({**about(name), **of, **counts, "epoch": one["epoch"], "value": value})
    best = by_seed((x for x in rows if x["target"] == source and x["task"] != VALID), "row")
    for row in [x for x in rows if x["target"] != source and x["value"] is not None]:
        if (seed := row.get("seed")) in (found := best.get((row["row"],), {})):
            gap = {"measure": "gap", "column": f"gap {row['column']}", "unit": "points"}
            rows.append({**row, **gap, "chance": None, "value": found[seed] - row["value"]})
    for one in trained:
        of = {"row": one["row"], "seed": one["seed"], "measure": "dev accuracy", "unit": "%"}
        rows += [{**of, "epoch": n, "value": x} for n, x in enumerate(one.get("dev", ()), start=1)]
    common = {"paper": "clcr", "study": "clcr-classify"}
    return [{**common, **{k: v for k, v in row.items() if v is not None}} for row in rows]


def classify_record(rows: Sequence[Row], config: ClassifyConfig) -> Record:
    """The record of `measurements`: kinds of sequences down, languages across."""
    source, seeds = rows[0]["source"], config.seeds
    spread = f"{'mean ± standard deviation over seeds' if ',' in seeds else 'seed'} {seeds}"
    notes = [
        f"accuracy in percent, {spread}; trained on {source}, the epoch selected on its dev file",
        f"gap: points behind {source}, of the same seed",
    ]
    own = select(rows, {"measure": "accuracy", "empty": GIVEN})
    empty = figures(({**x, "value": x["empty"]} for x in own), "row", "task")
    for (row, name), counts in empty.items():
        least, most = int(min(counts)), int(max(counts))
        number = f"{most:,}" if least == most else f"{least:,} to {most:,}, by seed, of the"
        if most:
            notes.append(
                f"{row}, {name}: {number} sentences kept no key-point and are a zero vector"
            )
    headings = distinct((row for row in rows if "value" in row), "column")
    gaps = [name for name in headings if name and name.startswith("gap ")]
    order = [name for name in headings if name and name not in gaps]
    tests = [name for name in distinct(rows, "task") if name not in (None, VALID)]
    drawn = {"measure": "accuracy", "seed": GIVEN, "task": tests}
    chart = Chart("dots", drawn, panel="task", title="{column}", ylabel="accuracy (%)")
    chart = dataclasses.replace(chart, chance=rows[0]["row"])
    table = Table({"row": "row"}, "column", {"column": GIVEN}, order=[*order, *gaps], digits=1)
    return Record(
        "Inference on frozen sequences",
        rows,
        (
            Section("Table", table, notes=notes, name="table"),
            Section("Accuracy", chart=chart, name="plot"),
        ),
        source="CLCR, 4.2",
        lead=[
            "An ESIM reads frozen sequences of vectors; it was trained on one language, its epoch "
            "selected on that language's dev file, and saw no labels of another."
        ],
        config=dataclasses.asdict(config),
    )
