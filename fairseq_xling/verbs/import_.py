"""Import a pretrained encoder unchanged: its weights, its vocabulary, its tokenizer.

    fairseq-xling import bert-folder --languages en --output runs/bert
    fairseq-xling extract runs/bert/checkpoint.pt --data runs/bert/data --lang en --text en.txt ...

Every verb that takes a checkpoint and a data folder accepts the two in OUTPUT: extract, eval,
probe, ablate similarity, and fairseq-train with --finetune-from-model. To prepare training text
with an encoder's tokenizer, see `fairseq-xling prepare --tokenizer` and `fairseq-xling init`.

OUTPUT/checkpoint.pt   the model, a separable_transformer of the source's sizes
OUTPUT/data            data folder with its vocabulary and tokenizer, without text
"""

import argparse

from fairseq_xling.named_files import NEW_FOLDER, Input

GROUP = "Data"
SPEC_ROWS = ("T24", "T27")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar=Input("SOURCE"),
        help="folder in Hugging Face format (BERT, RoBERTa, XLM, XLM-R, CamemBERT, DistilBERT "
        "or ELECTRA) with a tokenizer.json",
    )
    parser.add_argument(
        "--languages", required=True, metavar="CODES", help="its languages, comma-separated"
    )
    parser.add_argument(
        "--segment",
        metavar="HOW",
        help="what counts as a word, as in `fairseq-xling prepare`; subwords are the tokenizer's "
        "either way (default: basic for BERT's kind of tokenizer, else pre)",
    )
    parser.add_argument("--output", required=True, metavar=NEW_FOLDER, help="folder to write")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.languages import parse_languages
    from fairseq_xling.papers.trelm.start import import_encoder

    print(import_encoder(args.source, parse_languages(args.languages), args.output, args.segment))
