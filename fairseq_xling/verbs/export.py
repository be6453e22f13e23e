"""Write a trained model with its vocabulary as one folder, to keep, share or translate with.

  fairseq-xling export translator/checkpoint_best.pt --output translator-en-de
  fairseq-xling translate translator-en-de < text.en > text.de

The folder has the weights without the optimiser's state, the dictionaries, and what cuts text into
pieces; it names no place of this machine. Where a command takes a checkpoint and its data folder,
it can stand for both.
"""

import argparse

GROUP = "Migrate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="model file")
    add("--output", required=True, metavar="DIR", help="folder to write; it must be new")
    add("--data", metavar="DATA", help="the model's data folder, if it has moved")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.interop.export import export

    print(f"{args.output}: {export(args.checkpoint, args.output, args.data)}")
