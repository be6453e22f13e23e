"""What `struct train`, `struct predict` and `struct matrix` run.

A matrix has training sets down, test files across (the transfer note, Table of section 3). All its
trainings end before the first test file is opened. Each is a file, so an interrupted run continues
with the next, and within a training with the last epoch on disk.
"""

import argparse
import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import exclusive, read_json, same_place, sha256, write_json
from fairseq_xling.core.folders import claim
from fairseq_xling.core.options import part_of
from fairseq_xling.core.provenance import provenance
from fairseq_xling.engine.devices import usable_device
from fairseq_xling.papers.transfer.structures.data import (
    FitSettings,
    MatrixConfig,
    ModelSettings,
    Reader,
    TrainConfig,
    Variant,
    files,
    variants,
)
from fairseq_xling.papers.transfer.structures.features import parse_features
from fairseq_xling.papers.transfer.structures.fit import majority, micro_scores, notes_of_scores
from fairseq_xling.papers.transfer.structures.formats import formats
from fairseq_xling.papers.transfer.structures.matrix import (
    STUDY,
    compared_with,
    matrix_notes,
    matrix_record,
    measurements,
    read_others,
)
from fairseq_xling.papers.transfer.structures.sentence import tasks
from fairseq_xling.papers.transfer.structures.training import (
    MODEL,
    Library,
    Place,
    Trained,
    read_model,
    tested,
    train,
    write_model,
)
from fairseq_xling.reports.page import write_run
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import RESULTS, Record, Section, made, write_record
from fairseq_xling.verbs.parts.output import as_text
from fairseq_xling.verbs.predict import output_names
from fairseq_xling.workflow.options import load_config, parse_seeds

# What a finished training does not depend on.
_NOT_KEPT = ("test", "device", "skip_bad")


def named_tests(given: Sequence[tuple[str, Path]]) -> dict[str, tuple[str, Path]]:
    """Test files by the name that tables and folders of predictions give them."""
    endings = [Path(path.name.removesuffix(".gz")).suffix for _, path in given]
    names = output_names(given, "")
    return {x + end: one for x, end, one in zip(names, endings, given, strict=True)}


def run_train(args: argparse.Namespace) -> None:
    """See `fairseq_xling.papers.transfer.commands.struct`."""
    config = load_config(TrainConfig, args)
    chosen = parse_features(config.features)
    model, settings = config.model(config.network), config.fit(config.seed)
    device = usable_device(config.device)
    reader = config.reader([(chosen, model)])
    places, dev = files("--train", config.train), files("--valid", config.valid)
    tests = named_tests(files("--test", config.test))
    for name, given in (("train", places), ("valid", dev)):
        if not given:
            raise UserError(f"`--{name}` must be given")
    source = config.source()
    output = Path(args.output)
    used = {f"train {n}": path for n, (_, path) in enumerate(places)}
    used |= {f"valid {n}": path for n, (_, path) in enumerate(dev)}
    identity = {name: sha256(path) for name, path in used.items()} | {"words": source.about()}
    values = sorted(dataclasses.asdict(config).items())
    kept = {x: list(y) if isinstance(y, tuple) else y for x, y in values if x not in _NOT_KEPT}
    library = Library(reader, source)
    for place in () if output.exists() else (*places, *dev):
        library.file(place)  # so that a damaged one leaves nothing behind
    claim(output, {**identity, "settings": kept})
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        path = output / MODEL
        if not path.is_file():
            trained, done = train(
                library, places, dev, config.task, chosen, model, settings, device,
                output / "training.safetensors",
            )  # fmt: skip
            record = {"epoch": done.best, "dev_f1": done.curve, "loss": done.loss}
            record |= {"inputs": trained.network.inputs, "labels": list(trained.about.labels)}
            write_json(output / "training.json", record | {"provenance": provenance(used)})
            write_model(path, trained)
            print(
                f"{path}: {trained.network.inputs} wide words ({', '.join(chosen)}), "
                f"{len(trained.about.labels)} labels, epoch {done.best}, dev F1 "
                f"{100 * done.curve[done.best - 1]:.1f} %"
            )
        if tests:
            trained = read_model(path, device)
            scores = predict_files(trained, library, tests, config.format, output / "predictions")
            write_scores(output, scores, path, tests)


def predict_files(
    trained: Trained, library: Library, tests: Mapping[str, Place], form: str, output: Path
) -> dict[str, dict[str, Any]]:
    """Predict files, write them with their predictions into ``output``, and return the scores of
    each with what it is."""
    found, task = {}, tasks[trained.about.task]
    for name, place in tests.items():
        file = library.file(place)
        predicted, scores = tested(trained, file, library.words(place, trained.about.features))
        sentences = map(task.annotated, file.sentences, predicted)
        formats[form].write(output / name, list(sentences), file.path)
        about = {"language": file.lang, "file": str(file.path), "sha256": file.digest}
        found[name] = {**about, "sentences": len(file.sentences), **scores}
    return found


def write_scores(
    output: Path, scores: Mapping[str, Mapping[str, Any]], model: Path, tests: Mapping[str, Place]
) -> None:
    """Write ``scores.json``, the record of the annotated files, and print its table."""
    rows = []
    for name, one in scores.items():
        about = {"paper": "transfer", "study": STUDY, "row": name, "target": one["language"]}
        about |= {key: count for key, count in one.items() if isinstance(count, int)}
        rows.append({**about, "measure": "candidates", "value": one["candidates"]})
        for measure in ("precision", "recall", "F1") if one["gold"] else ():
            value = 100 * one[measure.lower()]
            rows.append({**about, "measure": measure, "value": value, "unit": "%"})
    table = Table(
        {"file": "row", "language": "target"}, order=("candidates", "precision", "recall", "F1")
    )
    section = Section("Files", table, notes=notes_of_scores(scores))
    record = Record("Relations or roles that were predicted", rows, (section,))
    used = {name: path for name, (_, path) in tests.items()}
    write_record(output / "scores.json", made(record, {"model": model, **used}))
    print(as_text(record))


def run_predict(args: argparse.Namespace) -> None:
    """See `fairseq_xling.papers.transfer.commands.struct`."""
    device = usable_device(args.device)
    model = Path(args.model) / MODEL if Path(args.model).is_dir() else Path(args.model)
    trained = read_model(model, device)
    about = trained.about
    trees = about.model.needs_trees(about.features)
    needs = {"needs_trees": trees, "needs_tags": "pos" in about.features}
    reader = part_of(Reader, args, task=about.task, **needs)
    reader.check()
    places = named_tests(files("FILE", [",".join(args.files)]))
    output = Path(args.output)
    for name, (_, path) in places.items():
        if same_place(output / name, path):
            raise UserError(f"`--output` must be another folder, got that of {path}")
    source = about.source(
        dict(files("--vectors", args.vectors)), args.encoder, args.encoder_data, args.device
    )
    library = Library(reader, source)
    for place in places.values():
        library.words(place, about.features)  # every file is read before anything is written
    scores = predict_files(trained, library, places, args.format, output)
    write_scores(output, scores, model, places)


@dataclasses.dataclass(frozen=True)
class Job:
    """One training."""

    row: str  # the training set, languages joined by +
    network: str
    variant: Variant
    seed: int
    model: ModelSettings
    fit: FitSettings
    name: str  # of its files; different trainings have different ones


def run_matrix(args: argparse.Namespace) -> None:
    """See `fairseq_xling.papers.transfer.commands.struct`."""
    config = load_config(MatrixConfig, args)
    device = usable_device(config.device)
    places, dev = {}, {}  # files of each language, in order
    for into, given in ((places, config.train), (dev, config.valid)):
        for lang, path in files("--train" if into is places else "--valid", given):
            into.setdefault(lang, []).append(path)
    tests = named_tests(files("--test", config.test))
    if not places or not tests:
        raise UserError(f"`--{'test' if places else 'train'}` must be given")
    rows = _rows(config, places, dev)
    used = {f"train {x}{n}": p for x, own in places.items() for n, p in enumerate(own)}
    used |= {f"valid {x}{n}": p for x, own in dev.items() for n, p in enumerate(own)}
    jobs = _jobs(config, rows, {name: sha256(path) for name, path in used.items()})
    models = [(one.variant.features, one.model) for one in jobs]
    others = read_others(config.compare)
    source = config.source()
    library = Library(config.reader(models), source)
    output = Path(args.output)
    for lang in () if output.exists() else sorted({lang for own in rows.values() for lang in own}):
        for path in (*places[lang], *dev[lang]):
            library.file((lang, path))  # so that a damaged one leaves nothing behind
    claim(output, {"task": config.task, "words": source.about()})
    with exclusive(output, f"`--output` {output}: another run is writing it"):
        for job in jobs:
            path = output / "trained" / f"{job.name}.safetensors"
            if path.is_file():
                continue
            own = [[(x, p) for x in rows[job.row] for p in which[x]] for which in (places, dev)]
            what = " ".join(filter(None, (job.row, job.network, job.variant.name, str(job.seed))))
            state = path.with_name(f"{job.name}.state.safetensors")
            of = config.task, job.variant.features, job.model, job.fit, device, state, what
            trained, done = train(library, *own, *of)
            record = {"epoch": done.best, "dev_f1": done.curve, "inputs": trained.network.inputs}
            write_json(path.with_name(f"{job.name}.json"), record)
            write_model(path, trained)
        digests = {name: sha256(path) for name, (_, path) in tests.items()}
        results = [_tested(job, config, library, tests, digests, device, output) for job in jobs]
        gold = {name: library.labels(place) for name, place in tests.items()}
        always = {}
        for row, langs in rows.items():
            trained_on = [(x, path) for x in langs for path in places[x]]
            label = majority([one for place in trained_on for one in library.labels(place)])
            f1 = {name: micro_scores([label] * len(own), own).f1 for name, own in gold.items()}
            always[row] = {"label": label, "f1": f1}
        used |= {f"test {name}": path for name, (_, path) in tests.items()}
        compared = zip(others, config.compare, strict=True)
        used |= {f"compare {name}": Path(run) / RESULTS for name, run in compared}
        languages = {name: lang for name, (lang, _) in tests.items()}
        origin = provenance(used)
        found = measurements(results, rows, languages, always)
        measured = compared_with(found, origin["inputs"], others)
        record = matrix_record(measured, config, matrix_notes(config, results))
        write_run(output, dataclasses.replace(record, provenance=origin))
        print(f"{as_text(record)}\nwritten to {output}, with predictions/")


def _rows(
    config: MatrixConfig, places: Mapping[str, object], dev: Mapping[str, object]
) -> dict[str, list[str]]:
    """The languages of each training set, by its name."""
    names = names_in(config.sources) or list(places)
    found: dict[str, list[str]] = {}
    for name in names:
        found[name] = [one.strip() for one in name.split("+")]
        for option, given in (("--train", places), ("--valid", dev)):
            for lang in found[name]:
                if lang not in given:
                    raise UserError(
                        f"`{option}` must name a file of {lang}, a language of `--sources`, got "
                        f"files of {', '.join(given) or 'none'}"
                    )
        if len(set(found[name])) < len(found[name]):
            raise UserError(f"`--sources` must name each language of a set once, got {name!r}")
    if len(found) < len(names):
        raise UserError(f"`--sources` must be different sets, got {config.sources!r}")
    return found


def _jobs(
    config: MatrixConfig, rows: Mapping[str, Sequence[str]], digests: Mapping[str, str]
) -> list[Job]:
    networks, ablated = (names_in(text) for text in (config.networks, config.ablate))
    read = (config.format, config.segment, config.trees, config.pool, sorted(digests.items()))
    found = []
    for number, network in enumerate(networks or [""]):
        varied = variants(config, ablated if number == 0 else [])
        seeds = parse_seeds("--seeds", config.seeds)
        for variant, row, seed in itertools.product(varied, rows, seeds):
            model, fit = config.model(network, **variant.changes), config.fit(seed)
            of = (row, variant.features, model, fit, read)
            name = f"{row}-{network}-seed{seed}-{hashlib.sha256(repr(of).encode()).hexdigest()[:8]}"
            found.append(Job(row, network, variant, seed, model, fit, name))
    return found


def _tested(
    job: Job,
    config: MatrixConfig,
    library: Library,
    tests: Mapping[str, Place],
    digests: Mapping[str, str],
    device: torch.device,
    output: Path,
) -> dict[str, Any]:
    """The scores of a training on every test file, from its file if it is of these tests."""
    path = output / "tested" / f"{job.name}.json"
    if path.is_file():
        found = read_json(path)
        if {name: one["sha256"] for name, one in found["scores"].items()} == digests:
            return found
    trained = read_model(output / "trained" / f"{job.name}.safetensors", device)
    record = read_json(output / "trained" / f"{job.name}.json")
    predictions = output / "predictions" / job.name
    scores = predict_files(trained, library, tests, config.format, predictions)
    about = {"row": job.row, "network": job.network, "variant": job.variant.name, "seed": job.seed}
    write_json(path, {**about, **record, "scores": scores})
    return read_json(path)  # as a later call reads it
