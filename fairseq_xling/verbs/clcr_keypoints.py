"""Measure how well key-points are found: accuracy, precision and recall by language.

  fairseq-xling clcr keypoints extract/checkpoint_last.pt --labels labels --split valid

Words with p(key-point) > delta are kept as key-points and compared with the pseudo-gold pivots of
`fairseq-xling clcr label`. Figures are in [0, 1].
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, LABELS, NEW_RESULTS
from fairseq_xling.ranges import COUNT, Number

GROUP = "CLCR"
SPEC_ROWS = ("C10",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="of fairseq-train --task clcr, with extraction")
    add("--data", metavar=DATA, help="its data folder, if it has moved")
    add("--labels", required=True, metavar=LABELS, help="folder of `fairseq-xling clcr label`")
    add("--split", default="valid", help="of the data folder's parallel text")
    add("--delta", default="0.2,0.5", metavar="P,P", help="thresholds of p(key-point)")
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        help="maximum padded tokens per side and batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add(
        "--output",
        metavar=NEW_RESULTS,
        help="file for the results; the table is written next to it as .csv",
    )
    parser.set_defaults(figure=None)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_keypoints import run_keypoints

    run_keypoints(args)
