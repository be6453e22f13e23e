"""Learn relations between mentions, or roles in events, on trees, and predict in other languages.

fairseq-xling struct train --task relations --train en=train.jsonl --valid en=valid.jsonl \\
    --vectors en=en.vec,zh=zh.vec --output model
fairseq-xling struct predict model zh=test.jsonl --output found
fairseq-xling struct matrix --task roles --train en=en.jsonl,zh=zh.jsonl --valid ... --output runs/m
"""

import argparse
import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import DATA, FILE, LANG_FILE, MODEL, NEW_FOLDER, Input
from fairseq_xling.core.options import REQUIRED, add_fields, argument, option
from fairseq_xling.core.ranges import NOT_NEGATIVE
from fairseq_xling.tasks.items import SKIP_BAD_HELP

GROUP = "Transfer"

_TRAIN = """\
Train a graph convolutional network on dependency trees: candidates are pairs of mentions
(relations), or a trigger with a mention (roles); those without a label are NONE.

  fairseq-xling struct train --task relations --train en=train.jsonl --valid en=valid.jsonl \\
      --test zh=test.zh.jsonl --vectors en=en.vec,zh=zh.vec --output model

Words are frozen vectors of one space, or the last layer of a frozen --encoder, with learnt
embeddings of part of speech, mention type and relation to the head. Keeps the epoch with the best
micro-F1 on the dev files; test files are opened only after training. Writes model.safetensors,
training.json, and for tests scores.json and predictions/ in the format of the input. If
interrupted, the same command resumes.
"""

_PREDICT = """\
Predict with a trained model, in any language with word vectors in the space of training.

  fairseq-xling struct predict model de=relx.de.txt --format kbp37 --trees parser.pt --output found

Writes a file of predictions for each input, in the input's format, and scores.json with micro
precision, recall and F1 without NONE. Word vectors are those of training where none are given.
"""

_MATRIX = """\
Train on each of several languages, or sets of them, and test on every language.

  fairseq-xling struct matrix --task roles --train en=en.jsonl,zh=zh.jsonl \\
      --valid en=en.dev.jsonl,zh=zh.dev.jsonl --test en=en.test.jsonl,zh=zh.test.jsonl \\
      --sources en,zh,en+zh --vectors en=en.vec,zh=zh.vec --output runs/roles

Writes results.json, table.md, table.csv, a heat map of each network and predictions. If
interrupted, the same command resumes.
"""


@dataclasses.dataclass(frozen=True)
class PredictOptions:
    model: str = argument("folder of `struct train`, or its model.safetensors", MODEL)
    files: tuple[str, ...] = argument(
        "what to predict, e.g. de=test.de.jsonl", LANG_FILE, words="+"
    )
    output: str = option(REQUIRED, "folder for the predictions", metavar=NEW_FOLDER)
    format: str = option("json_lines", "json_lines, tacred or kbp37", metavar="NAME")
    segment: str = option("", "segmentation of kbp37's text (as `pre`)", metavar="NAME")
    skip_bad: int = option(0, SKIP_BAD_HELP, range=NOT_NEGATIVE)
    trees: str = option(
        "",
        "trees of sentences without one: checkpoint of a parser, or LANG=FILE.conllu,...",
        metavar=Input("PARSER"),
    )
    trees_data: str = option("", "the parser's data folder, if it has moved", metavar=DATA)
    vectors: tuple[str, ...] = option(
        (), "word vectors (default: those of training); repeatable", metavar=Input("LANG=FILE,...")
    )
    encoder: str = option("", "encoder (default: that of training)", metavar=FILE)
    encoder_data: str = option("", "its data folder, if it has moved", metavar=DATA)
    device: str = shared.device()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.transfer.structures.data import MatrixConfig, TrainConfig
    from fairseq_xling.workflow.options import add_options

    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, config, text, what in (
        ("train", TrainConfig, _TRAIN, "one model"),
        ("matrix", MatrixConfig, _MATRIX, "training sets by test languages, with seeds"),
    ):
        action = actions.add_parser(
            name, help=what, description=text, formatter_class=parser.formatter_class
        )
        action.add_argument("--output", required=True, metavar=NEW_FOLDER, help="folder of the run")
        add_options(action, config)
    predict = actions.add_parser(
        "predict",
        help="predictions of a trained model",
        description=_PREDICT,
        formatter_class=parser.formatter_class,
    )
    add_fields(predict, PredictOptions)


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.papers.transfer.structures.runs import run_matrix, run_predict, run_train

    if args.action == "matrix":
        check_installed("`fairseq-xling struct matrix`", *OF_PAGES)
    {"train": run_train, "predict": run_predict, "matrix": run_matrix}[args.action](args)
