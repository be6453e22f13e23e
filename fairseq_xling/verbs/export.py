"""Write a trained model with its vocabulary as one folder, to keep, share or translate with.

  fairseq-xling export translator/checkpoint_best.pt --output translator-en-de
  fairseq-xling translate translator-en-de < text.en > text.de

The folder has the weights without the optimiser's state, the dictionaries, and what cuts text into
pieces; it names no place of this machine. Where a command takes a checkpoint and its data folder,
it can stand for both. `--format` chooses other forms, for programs that do not have this project.
"""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from fairseq_xling.core import options as shared
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.folders import check_new, new_folder
from fairseq_xling.core.named_files import NEW_FOLDER
from fairseq_xling.core.options import add_fields, option, values_of
from fairseq_xling.core.ranges import option_name
from fairseq_xling.verbs.export_formats import FORMATS, Job

GROUP = "Migrate"


def _options() -> Any:
    """The options of the verb, which name the formats that there are."""
    forms = "; ".join(f"{name}: {FORMATS[name].help}" for name in FORMATS)

    @dataclasses.dataclass(frozen=True)
    class Options:
        checkpoint: str = shared.checkpoint()
        output: str = shared.output("folder to write; it must be new", NEW_FOLDER)
        data: str | None = shared.moved_data()
        format: str = option("fairseq", f"form of the folder ({forms})", metavar="NAME")
        language: str | None = option(
            None,
            "language whose parts are written, for formats of one language (default: the model's "
            "first, if no part is private)",
            metavar="LANG",
        )

    return Options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Those of the verb, and in a group each those of the formats."""
    add_fields(parser, _options())
    for name in FORMATS:
        add_fields(parser.add_argument_group(f"format {name}"), FORMATS[name].options)


def run(args: argparse.Namespace) -> None:
    options, chosen = values_of(_options(), args), FORMATS[args.format]
    own = values_of(chosen.options, args)
    for name in FORMATS:
        for field in dataclasses.fields(FORMATS[name].options):
            if name != options.format and getattr(args, field.name) != field.default:
                raise UserError(
                    f"`--{option_name(field.name)}` is of `--format {name}`, got it with "
                    f"`--format {options.format}`"
                )
    output = Path(options.output)
    check_new("--output", output)
    settings = {**dataclasses.asdict(options), **dataclasses.asdict(own)}
    with new_folder(output, settings, "export") as partial:
        job = Job(options.checkpoint, options.data, options.language, partial, output)
        said = chosen().write(job, own)
    print(f"{output}: {said}")
