"""Find the values of decoding that suit a translation model, and keep them with it.

  fairseq-xling tune model/checkpoint_best.pt --output model/tuned.pt
  fairseq-xling tune model/checkpoint_best.pt --output model/tuned.pt --ngram de.arpa --slot-beam 20
  fairseq-xling tune model/checkpoint_best.pt --output model/tuned.pt --rescore autoregressive.pt

Translates a split of the model's data folder with each value of `--blank-penalty` (of `ctc`) or
`--word-bonus` (of `lattice`), prints BLEU, and writes the model with the best one, which every
program then uses unless another is given. With an n-gram model it then searches with values of
`--ngram-weight` and `--ngram-bonus` around the best so far, until none is better, and prints BLEU
of each pair. Of a model that chooses among what a search has found, with the n-gram model if there
is one, it tries each pair of `--rescore-weight` and `--rescore-bonus`. These are options of
translation, and not kept with the model.
"""

import argparse

from fairseq_xling.named_files import DATA, FILE, MODEL, NEW_FILE
from fairseq_xling.ranges import HYPOTHESES, Number, Range

GROUP = "Migrate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar=MODEL, help="checkpoint of `--emission ctc` or lattice")
    add("--output", required=True, metavar=NEW_FILE, help="checkpoint to write, to translate with")
    add("--data", metavar=DATA, help="the model's data folder, if it has moved")
    add("--split", default="valid", metavar="SPLIT", help="parallel text to translate")
    add("--from", dest="source", metavar="LANG", help="source language, if several are known")
    add("--to", dest="target", metavar="LANG", help="target language, if several are known")
    add("--tokenizer", help="sacrebleu's (default: 13a, zh for zh, char for ja)")
    add("--ngram", metavar=FILE, help="ARPA model of the target language, to find its values")
    add("--rescore", metavar=FILE, help="checkpoint of `--task translation`, to find its values")
    add(
        "--slot-beam",
        type=Number(int, Range(2, HYPOTHESES.most)),
        metavar="N",
        help="hypotheses of the search with --rescore, and up to 20 with --ngram (default: 20)",
    )
    add("--json", metavar=NEW_FILE, help="also write BLEU of each value as JSON")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.tune import tune_model

    tune_model(args)
