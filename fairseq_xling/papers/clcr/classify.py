"""The verb ``clcr classify``: ESIM on frozen sequences, trained in one language, tested in others.

CLCR, section 4.2: a row of the table for each kind of sequence (T, T+E, T+E+R, T+pGA), and the gap
of each target language to the one trained on.
"""

import argparse
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive, read_json, sha256, write_json
from fairseq_xling.core.folders import claim
from fairseq_xling.core.progress import progress
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.papers.clcr.classify_config import (
    SIDES,
    TRAIN,
    VALID,
    ClassifyConfig,
    LabelledFile,
    RowFolders,
    folder,
    labelled_files,
    labelled_pairs,
    parse_rows,
)
from fairseq_xling.papers.clcr.classify_result import named_runs, read_beside, write_classified
from fairseq_xling.papers.clcr.sequences import (
    META,
    Sequences,
    check_same_sentences,
    check_same_width,
    sequences_of,
)
from fairseq_xling.runs.options import load_config
from fairseq_xling.tasks.esim import Esim, EsimOptions, Trained, fit_pairs
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.items import parse_columns


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
    config = load_config(ClassifyConfig, args)
    options = config.esim()
    rows = parse_rows("--vectors", config.vectors, ("side",))
    usable_device(config.device)
    files = labelled_files(config)
    labelled = [(file, _labels(file, config)) for file in files]
    names = sorted({label for label in labelled[0][1] if label is not None})
    if len(names) < 2:
        raise UserError(
            f"{files[0].path}: must have at least 2 labels, got {', '.join(names) or 0}"
        )
    seeds = [one.seed for one in options]
    for row in rows:
        for seed in row.differing(seeds):
            _open(row, labelled, names, seed)  # raises for missing or damaged files
    baselines = named_runs(config.baseline)
    beside = read_beside(config.beside)
    for name, run in baselines.items():
        beside += read_beside([run], name)
    output = Path(args.output)
    claim(output, {"files": {file.name: sha256(file.path) for file in files}})
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        found = [
            _result(row, labelled, names, one, config, output) for row in rows for one in options
        ]
        used: dict[str, Path] = {file.name: file.path for file in files}
        used |= {
            f"{row.name} {file.name} {side}, seed {seed}": folder(row, file, side, seed) / META
            for row in rows
            for seed in row.differing(seeds)
            for file in files
            for side in SIDES
        }
        runs = [*config.beside, *baselines.values()]
        used |= {f"run {run}": Path(run) / "results.json" for run in runs}
        write_classified(output, config, files, found, _majority(labelled), beside, used)


def _labels(file: LabelledFile, config: ClassifyConfig) -> list[str | None]:
    found = [item.label for item in labelled_pairs(file.path, config.format, config.columns)]
    if file.name in (TRAIN, VALID) and not any(found):
        raise UserError(f"{file.path}: has no labels to learn from")
    return found


def _open(
    row: RowFolders, labelled: Sequence[Labelled], names: Sequence[str], seed: int
) -> list[Pairs]:
    """The pairs of every file as the row's sequences, mapped."""
    numbers = {name: number for number, name in enumerate(names)}
    found: list[Pairs] = []
    for file, known in labelled:
        folders = [folder(row, file, side, seed) for side in SIDES]
        sides = [sequences_of(one, file.lang, file.path) for one in folders]
        labels = np.array([numbers.get(label or "", -1) for label in known], dtype=np.int64)
        found.append(Pairs(*sides, labels))
        check_same_width(found[0].premises, found[-1].premises)
    return found


def _result(
    row: RowFolders,
    labelled: Sequence[Labelled],
    names: Sequence[str],
    options: EsimOptions,
    config: ClassifyConfig,
    output: Path,
) -> dict[str, Any]:
    """The scores of one training, from its file if it exists; predictions are next to it."""
    origin = {
        f"{file.name} {side}": sha256(folder(row, file, side, options.seed) / META)
        for file, _ in labelled
        for side in SIDES
    }
    read = (config.columns, config.format)  # determines which labels are learnt
    text = repr((row.name, dataclasses.asdict(options), sorted(origin.items()), read))
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

        trained = fit_esim(*pairs[:2], len(names), options, config.device, passed)
    result: dict[str, Any] = {
        "row": row.name,
        "seed": options.seed,
        "options": dataclasses.asdict(options),
        "epoch": trained.epoch,
        "dev": [100 * accuracy for accuracy in trained.curve],
        "accuracy": {},
        "vectors": {},
        "empty": {},
    }
    for (file, labels), own in zip(labelled[1:], pairs[1:], strict=True):
        predicted = [names[number] for number in trained.predict(own)]
        result["vectors"][file.name] = float(own.sizes.mean()) / 2
        empty = (own.premises.counts == 0).sum() + (own.hypotheses.counts == 0).sum()
        result["empty"][file.name] = int(empty)
        scored = [(p, label) for p, label in zip(predicted, labels, strict=True) if label]
        if scored:
            right = sum(p == label for p, label in scored)
            result["accuracy"][file.name] = 100 * right / len(scored)
        if file.name != VALID:
            _write(file, predicted, config, output / "predictions" / name)
    write_json(path, result)
    return read_json(path)  # as a later call reads it


def _write(
    file: LabelledFile, predicted: Sequence[str], config: ClassifyConfig, output: Path
) -> None:
    """Predictions in the format of the file, instead of its labels."""
    form, columns = find_format("tsv", config.format), parse_columns(config.columns)
    items = list(form.read(file.path, columns))
    form.write(output / file.name.removesuffix(".gz"), items, predicted, columns)


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
