"""The verbs ``struct train`` and ``struct predict``."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from fairseq_xling.devices import usable_device
from fairseq_xling.errors import UserError
from fairseq_xling.files import exclusive, same_place, sha256, write_json
from fairseq_xling.folders import claim
from fairseq_xling.papers.transfer.structures.data import Reader
from fairseq_xling.papers.transfer.structures.features import parse_features
from fairseq_xling.papers.transfer.structures.formats import formats
from fairseq_xling.papers.transfer.structures.sentence import tasks
from fairseq_xling.papers.transfer.structures.training import (
    MODEL,
    Library,
    Place,
    read_model,
    tested,
    train,
    write_model,
)
from fairseq_xling.provenance import provenance
from fairseq_xling.results.tables import text_table
from fairseq_xling.runs.options import load_config
from fairseq_xling.verbs.parts.struct_config import TrainConfig, files, named_tests
from fairseq_xling.verbs.parts.struct_matrix_result import notes_of_scores

# What a finished training does not depend on.
_NOT_KEPT = ("test", "device", "skip_bad")
HEADER = ["file", "language", "candidates", "precision", "recall", "F1"]


def run_train(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.struct`."""
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
    values = dataclasses.asdict(config)
    kept = {name: values[name] for name in sorted(values) if name not in _NOT_KEPT}
    library = Library(reader, source)
    if not output.exists():  # so that a damaged file leaves nothing behind
        library.check((*places, *dev))
    claim(output, {**identity, "settings": {k: _plain(v) for k, v in kept.items()}})
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
            scores = {
                name: predict_file(
                    trained, library, place, config.format, output / "predictions" / name
                )
                for name, place in tests.items()
            }
            write_json(
                output / "scores.json",
                {"files": scores, "provenance": provenance({"model": path})},
            )
            print_scores(scores)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def predict_file(
    trained: Any, library: Library, place: Place, form: str, output: Path
) -> dict[str, Any]:
    """Predict a file, write it with its predictions, and return its record of scores."""
    chosen = trained.about.features
    file = library.file(place)
    predicted, scores = tested(trained, file, library.words(place, chosen))
    task = tasks[trained.about.task]
    found = [
        task.annotated(one, labels) for one, labels in zip(file.sentences, predicted, strict=True)
    ]
    formats[form].write(output, found, file.path)
    about = {"language": file.lang, "file": str(file.path), "sha256": file.digest}
    return {**about, "sentences": len(file.sentences), **scores}


def print_scores(scores: dict[str, dict[str, Any]]) -> None:
    """A table of the annotated files, and notes."""
    rows = [
        [name, one["language"], one["candidates"],
         *(100 * one[key] if one["gold"] else None for key in ("precision", "recall", "f1"))]
        for name, one in scores.items()
    ]  # fmt: skip
    print(text_table(HEADER, rows))
    for note in notes_of_scores(scores):
        print(f"({note})")


def run_predict(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.struct`."""
    device = usable_device(args.device)
    model = Path(args.model) / MODEL if Path(args.model).is_dir() else Path(args.model)
    trained = read_model(model, device)
    about = trained.about
    reader = Reader(
        about.task,
        args.format,
        args.segment,
        args.trees,
        args.trees_data,
        needs_trees=about.needs_trees,
        needs_tags="pos" in about.features,
        device=args.device,
        skip_bad=args.skip_bad,
    )
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
    scores = {
        name: predict_file(trained, library, place, args.format, output / name)
        for name, place in places.items()
    }
    used = {"model": model, **{name: path for name, (_, path) in places.items()}}
    write_json(output / "scores.json", {"files": scores, "provenance": provenance(used)})
    print_scores(scores)
