"""Predict with a fine-tuned model, in any language of its encoder.

  fairseq-xling predict finetuned/checkpoint_best.pt de=test.de.tsv zh=test.zh.tsv --output found

Writes a file of predictions for each input, in the input's own format, and scores.json; prints the
scores of the annotated ones. A file of predictions is named after its input, with the language in
front if the name does not contain it: found/test.de.tsv, and found/de.test.tsv for de=test.tsv.
Each language uses its own private parts of the encoder.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, LANG_FILE, NEW_FOLDER
from fairseq_xling.ranges import COUNT, Number

GROUP = "Transfer"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.tasks.items import add_skip_bad

    add = parser.add_argument
    add(
        "checkpoint",
        metavar=CHECKPOINT,
        help="of fairseq-train --task cross_lingual_transfer, adversarial_tagging or "
        "bilstm_baseline",
    )
    add("files", nargs="+", metavar=LANG_FILE, help="what to predict, e.g. de=test.de.tsv")
    add("--output", required=True, metavar=NEW_FOLDER, help="folder for the predictions")
    add("--data", metavar=DATA, help="the encoder's data folder, if it has moved")
    add("--format", metavar="NAME", help="format of the files (default: as in training)")
    add(
        "--columns",
        metavar="SPEC",
        help="which column holds what (default: as in training; with --format, that format's own)",
    )
    add(
        "--head-options",
        metavar="SPEC",
        help="settings for reading and counting, e.g. punctuation=drop for parsing, "
        "null_threshold=2 for unanswerable questions (default: as in training)",
    )
    add_skip_bad(parser)
    add(
        "--unknown-labels",
        metavar="HOW",
        help="labels not seen in training: refuse, or wrong, i.e. count as mistakes (default: as "
        "in training)",
    )
    add(
        "--too-long",
        metavar="HOW",
        help="items too long for the encoder: truncate, i.e. cut or read in "
        "pieces, or refuse (default: as in training)",
    )
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        metavar="N",
        help="maximum padded tokens per batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.predict import predict_files

    print(predict_files(args))
