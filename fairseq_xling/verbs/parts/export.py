"""Fills a new folder by a format of `verbs.export_formats`, atomically."""

import argparse
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.folders import new_folder
from fairseq_xling.verbs.export_formats import FORMATS, Job


def export(args: argparse.Namespace) -> str:
    """The verb ``export``: what was written, in one line.

    Raises:
        UserError: for an unknown format, a folder that is not empty, a model that cannot be loaded
            or that the format cannot represent.
    """
    chosen = FORMATS[args.format]()
    output = Path(args.output)
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise UserError(f"`--output` must be a new folder, got {output}")
    settings = {name: value for name, value in vars(args).items() if not callable(value)}
    with new_folder(output, settings, "export") as partial:
        job = Job(args.checkpoint, args.data, args.language, partial, output)
        said = chosen.write(job, args)
    return f"{output}: {said}"
