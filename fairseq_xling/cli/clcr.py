"""Bring two pretrained encoders together, so that a sentence and its translation are alike (CLCR).

    fairseq-xling clcr run config.yaml      everything, with one command

or step by step

    fairseq-xling clcr train config.yaml    the transforms and the encoders
    fairseq-xling clcr label CHECKPOINT     pseudo-gold pivots of parallel text
    fairseq-xling clcr encode CHECKPOINT    sequences of vectors of any text

and what they are worth

    fairseq-xling clcr curves NAME=LOG      distance of translations by step, of several trainings
    fairseq-xling clcr keypoints, order     key-points and their order against gold pivots
    fairseq-xling clcr report X Y           whether the sequences of translations are near
    fairseq-xling clcr classify             entailment learnt in one language, tested in others;
                                            clcr texts writes what it needs to be encoded
    fairseq-xling clcr probe                what spans still tell after each step

`fairseq-xling --help` lists all verbs that begin with clcr; each explains itself with --help.
"""

import argparse

from fairseq_xling.errors import UserError

GROUP = "CLCR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", metavar="ACTION", help="one of those above")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.cli.main import verbs
    from fairseq_xling.registry import unknown_name

    known = [name.partition("-")[2] for name in verbs() if name.startswith("clcr-")]
    if args.action:
        raise unknown_name("action of clcr", args.action, known)
    raise UserError(f"`clcr` needs an action: {', '.join(known)}")
