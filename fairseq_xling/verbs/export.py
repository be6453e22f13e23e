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

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.folders import check_new, new_folder
from fairseq_xling.core.named_files import CHECKPOINT, DATA, NEW_FOLDER
from fairseq_xling.core.options import REQUIRED, add_fields, argument, option
from fairseq_xling.verbs.export_formats import FORMATS, Job

GROUP = "Migrate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    forms = "; ".join(f"{name}: {FORMATS[name].help}" for name in FORMATS)

    @dataclasses.dataclass(frozen=True)
    class Options:
        checkpoint: str = argument("model file", CHECKPOINT)
        output: str = option(REQUIRED, "folder to write; it must be new", metavar=NEW_FOLDER)
        data: str | None = option(None, "the model's data folder, if it has moved", metavar=DATA)
        format: str = option("fairseq", f"form of the folder ({forms})", metavar="NAME")
        language: str | None = option(
            None,
            "language whose parts are written, for formats of one language (default: the model's "
            "first, if no part is private)",
            metavar="LANG",
        )

    add_fields(parser, Options)
    for name in FORMATS:
        FORMATS[name]().add_arguments(parser.add_argument_group(f"format {name}"))


def run(args: argparse.Namespace) -> None:
    chosen = FORMATS[args.format]()
    _refuse_options_of_others(args)
    output = Path(args.output)
    check_new("--output", output)
    settings = {name: value for name, value in vars(args).items() if not callable(value)}
    with new_folder(output, settings, "export") as partial:
        said = chosen.write(Job(args.checkpoint, args.data, args.language, partial, output), args)
    print(f"{output}: {said}")


def _refuse_options_of_others(args: argparse.Namespace) -> None:
    """Raises UserError for an option that the chosen format does not read."""
    for name in FORMATS:
        if name == args.format:
            continue
        own = argparse.ArgumentParser(add_help=False)
        FORMATS[name]().add_arguments(own)
        for action in own._actions:
            if getattr(args, action.dest) != action.default:
                raise UserError(
                    f"`{action.option_strings[0]}` is of `--format {name}`, got it with "
                    f"`--format {args.format}`"
                )
