"""Tables of key-points (accuracy, precision, recall) and of their order (order BLEU).

  fairseq-xling clcr evaluate model.pt --labels labels --split valid --output evaluation.json

Against the pseudo-gold pivots of `fairseq-xling clcr label`: by language and threshold which words
are kept as key-points, and by order head and beam how much of the second language's order is found.
`source` is the first language's own order. Shares are in [0, 1].
"""

import argparse

SPEC_ROWS = ("C10", "C13")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="of fairseq-train --task clcr")
    add("--data", metavar="DATA", help="its data folder, where it has moved")
    add("--labels", required=True, metavar="DIR", help="folder of `fairseq-xling clcr label`")
    add("--split", default="valid", help="of the data folder, which the labels have, too")
    add("--delta", default="0.2,0.5", metavar="P,P", help="thresholds of p(key-point)")
    add("--beam", default="1,10", metavar="N,N", help="hypotheses of the search for an order")
    add("--max-tokens", type=int, default=8192, help="most padded tokens of a side in a batch")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--output", metavar="JSON", help="file for the results")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.clcr.run_evaluate import run_evaluate

    run_evaluate(args)
