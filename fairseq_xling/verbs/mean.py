"""Compute the mean of a language's hidden states at every layer.

  fairseq-xling mean checkpoint_best.pt --data data-bin --lang de --text de.txt \\
      --output means/de.safetensors

The mean is over all subwords of the text, special symbols excluded (Liu et al. 2020, section 4.1).
The difference of two languages' means is what `fairseq-xling translate mds` adds. The file holds
`mean` (layers, width), row 0 being the output of the embeddings, the number of tokens, and its
provenance. An interrupted call resumes when repeated.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, FILE, NEW_FILE
from fairseq_xling.ranges import COUNT, Number

GROUP = "States and maps"
SPEC_ROWS = ("S10",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="model file")
    add("--data", required=True, metavar=DATA, help="the model's data folder")
    add("--lang", required=True, help="language of the text")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", metavar=FILE, help="UTF-8 text, a sentence per line, also .gz")
    source.add_argument(
        "--split", help="split of the data folder instead of a text: train, valid, test, test1, ..."
    )
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        help="maximum padded tokens per batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--output", required=True, metavar=NEW_FILE, help="safetensors file to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.mean import run_mean

    run_mean(args)
