"""Probe a frozen encoder: what can be predicted from its vectors of one or two spans.

  fairseq-xling probe checkpoint_best.pt --data data-bin --train en=train.jsonl \\
      --valid en=valid.jsonl --test en=test.jsonl --test de=test.de.jsonl --layers all \\
      --output runs/probe-pos

Rows are {"text": "The cat sat .", "span1": [1, 2], "label": "NOUN"}, with a "span2" for tasks on
two spans, or a text with a list of them as "targets". A span is [first, end), counted in
space-separated tokens, or with --offsets in characters. A label may be a list. `fairseq-xling probe
convert` makes rows from treebanks and tagged files.

The probe pools each span by attention and classifies with a sigmoid for each label (Tenney et al.
2019); the encoder is not trained. Writes results.json, table.csv, plot.svg for several layers, and
predictions in the format of the test files. If interrupted, the same command resumes.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, LANG_FILE, NEW_FOLDER
from fairseq_xling.ranges import BELOW_ONE, COUNT, Number, Range

GROUP = "Analyse"
SPEC_ROWS = ("E8",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="model file")
    add("--data", required=True, metavar=DATA, help="the model's data folder")
    add_examples(parser)
    add(
        "--layers",
        metavar="LAYERS",
        help="such as 0,2-4 or all, one probe each (default: the last)",
    )
    add("--mix", action="store_true", help="one probe on a learnt mixture of --layers instead")
    add_probe(parser)
    add(
        "--dtype", default="float32", choices=["float32", "float16"], help="type of vectors on disk"
    )
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        metavar="N",
        help="maximum padded tokens per batch",
    )
    add("--output", required=True, metavar=NEW_FOLDER, help="folder to write")


def add_examples(parser: argparse.ArgumentParser) -> None:
    """The files of a probe."""
    add = parser.add_argument
    add("--train", required=True, metavar=LANG_FILE, help="examples to train on")
    add("--valid", required=True, metavar=LANG_FILE, help="examples for early stopping")
    add(
        "--test",
        required=True,
        action="append",
        metavar=LANG_FILE,
        help="examples to predict, and score where they have labels; repeatable",
    )
    add("--offsets", default="tokens", choices=["tokens", "characters"], help="unit of spans")


def add_probe(parser: argparse.ArgumentParser) -> None:
    """The network of a probe, and its training."""
    add = parser.add_argument
    add("--classifier", default="mlp", help="classifier of the pooled spans: linear or mlp")
    add(
        "--hidden",
        type=Number(int, COUNT),
        default=256,
        metavar="N",
        help="hidden units of the mlp",
    )
    add(
        "--projection",
        type=Number(int, COUNT),
        default=256,
        metavar="N",
        help="projection width before pooling",
    )
    add(
        "--dropout",
        type=Number(float, BELOW_ONE),
        default=0.3,
        metavar="X",
        help="dropout before the classifier",
    )
    add(
        "--lr",
        type=Number(float, Range(0, 1, above=True, below=True)),
        default=1e-3,
        metavar="X",
        help="learning rate of Adam",
    )
    add("--batch-size", type=Number(int, COUNT), default=64, metavar="N", help="examples per step")
    add(
        "--epochs",
        type=Number(int, COUNT),
        default=50,
        metavar="N",
        help="maximum passes over the examples",
    )
    add(
        "--patience",
        type=Number(int, COUNT),
        default=5,
        metavar="N",
        help="passes without improvement before stopping",
    )
    add("--seeds", default="1", metavar="SEEDS", help="seeds, one probe each, comma-separated")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.probe import run_probe

    run_probe(args)
