"""Combine the two halves of a migration into one model.

  fairseq-xling combine forward/checkpoint_last.pt backward/checkpoint_last.pt --output combined.pt

The upper half of the layers comes from FORWARD (source to target), the lower half from BACKWARD
(target to source); everything else is the mean of both. Both must have started from the same
checkpoint. The next phase starts with `fairseq-train --finetune-from-model combined.pt`.
"""

import argparse

from fairseq_xling.named_files import NEW_FILE, Input

GROUP = "Migrate"
SPEC_ROWS = ("T7",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "forward", metavar=Input("FORWARD"), help="checkpoint of `--trelm-phase forward`"
    )
    parser.add_argument(
        "backward", metavar=Input("BACKWARD"), help="checkpoint of `--trelm-phase backward`"
    )
    parser.add_argument("--output", required=True, metavar=NEW_FILE, help="checkpoint to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.trelm.combine import combine

    print(f"{args.output}: {combine(args.forward, args.backward, args.output)}")
