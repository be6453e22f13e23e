"""The verb ``struct predict``."""

import argparse
from pathlib import Path

from fairseq_xling.devices import usable_device
from fairseq_xling.errors import UserError
from fairseq_xling.files import same_place, write_json
from fairseq_xling.provenance import provenance
from fairseq_xling.structures.data import Reader
from fairseq_xling.structures.model_file import MODEL, read_model
from fairseq_xling.structures.training import Library
from fairseq_xling.verbs.parts.struct_config import files, named_tests
from fairseq_xling.verbs.parts.struct_train import predict_file, print_scores


def run_predict(args: argparse.Namespace) -> None:
    """See `fairseq_xling.verbs.struct`.

    Raises:
        UserError: for bad arguments or input.
    """
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
