"""Find pseudo-gold pivots of parallel text: tokens that mean the same, one to one.

  fairseq-xling clcr label transform/checkpoint_last.pt --output labels
  fairseq-xling clcr label model.pt --threshold 3.5 --splits train,valid,test --output labels

Token i of a sentence and j of its translation are kept if they are mutual nearest neighbours and
their distance, in both directions, is under the threshold. Without --threshold, the one that best
matches the word alignment of --tune-on is used. Distances are in the units of the encoders' states.

OUTPUT/SPLIT/pivots.pharaoh   links i-j, a line for each sentence pair
OUTPUT/SPLIT/distances.npy    the distance of each link
OUTPUT/SPLIT/meta.json        settings, counts, provenance

An interrupted call resumes when repeated, with the same result.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, NEW_FOLDER
from fairseq_xling.ranges import COUNT, POSITIVE, Number

GROUP = "CLCR"
SPEC_ROWS = ("C6",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="of fairseq-train --task clcr, with a transform")
    add("--data", metavar=DATA, help="its data folder, if it has moved")
    add("--splits", default="train,valid", help="of the data folder's parallel text")
    add(
        "--threshold",
        type=Number(float, POSITIVE),
        metavar="D",
        help="pairs closer than D are kept (default: tuned)",
    )
    add(
        "--tune-on",
        default="valid",
        metavar="SPLIT",
        help="split with a word alignment, for tuning",
    )
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        help="maximum padded tokens per side and batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--output", required=True, metavar=NEW_FOLDER, help="folder to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_label import run_label

    run_label(args)
