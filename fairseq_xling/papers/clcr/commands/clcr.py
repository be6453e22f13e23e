"""Align two pretrained encoders: a sentence and its translation get the same vectors (CLCR).

    fairseq-xling clcr run config.yaml      everything, with one command

or step by step

    fairseq-xling clcr train config.yaml    the transforms and the encoders
    fairseq-xling clcr label CHECKPOINT     pseudo-gold pivots of parallel text
    fairseq-xling clcr encode CHECKPOINT    sequences of vectors of any text

and to evaluate them

    fairseq-xling clcr measure curves       distance of translations by step, of several trainings
    fairseq-xling clcr measure keypoints    key-points against gold pivots; likewise order
    fairseq-xling clcr measure show         one sentence: p of its words, heat maps of its order
    fairseq-xling clcr measure report X Y   whether the sequences of translations are close
    fairseq-xling clcr classify             entailment trained in one language, tested in others;
                                            clcr texts writes what it needs to be encoded
    fairseq-xling clcr probe                what can still be probed from spans after each step

`fairseq-xling --help` lists all verbs that begin with clcr; each has its own --help.
"""

import argparse

from fairseq_xling.core.errors import UserError

GROUP = "CLCR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", metavar="ACTION", help="one of the above")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.command_line import verbs
    from fairseq_xling.core.registry import unknown_name

    known = [name.partition("-")[2] for name in verbs() if name.startswith("clcr-")]
    if args.action:
        raise unknown_name("action of clcr", args.action, known)
    raise UserError(f"`clcr` needs an action: {', '.join(known)}")
