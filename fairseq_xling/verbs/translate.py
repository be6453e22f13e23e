"""Translate plain text with a model of `--task cdlm`, all words of a sentence at once.

  fairseq-xling translate translator/checkpoint_best.pt < text.en > text.de
  fairseq-xling translate FOLDER --input text.en --nbest 3 --alignment

MODEL is a checkpoint, or a folder that `fairseq-xling export` wrote. A line in is a line out, in
the same order; an empty one stays empty. With --nbest or --alignment a line out is a hypothesis:

  LINE ||| TRANSLATION ||| SCORE
  LINE ||| TRANSLATION ||| SCORE ||| SOURCE PIECES ||| TRANSLATION PIECES ||| LINKS such as 0-1

LINE counts from 0, SCORE is the mean log-probability of a token (in nats). With --slot-beam it is
that of the translation, of a lattice with its bonus for each word, with --ngram and what the n-gram
model adds, with --rescore

  (1 - rescore-weight) (its own) + rescore-weight (the other model's) + rescore-bonus (words).
"""

import argparse

from fairseq_xling import precision
from fairseq_xling.named_files import DATA, FILE, MODEL, NEW_FILE
from fairseq_xling.ranges import (
    ANY,
    CANDIDATES,
    COUNT,
    HYPOTHESES,
    NATS,
    NOT_NEGATIVE,
    SHARE,
    Number,
)

GROUP = "Migrate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar=MODEL, help="checkpoint, or folder of `fairseq-xling export`")
    add("--data", metavar=DATA, help="the model's data folder, if it has moved")
    add("--from", dest="source", metavar="LANG", help="language of the text, if several are known")
    add("--to", dest="target", metavar="LANG", help="language to write, if several are known")
    add("--input", metavar=FILE, help="UTF-8 text, also .gz (default: standard input)")
    add("--output", metavar=NEW_FILE, help="file to write (default: standard output)")
    add(
        "--ordering",
        metavar="NAME",
        help="source of the order, as of fairseq-generate (default: what suits the model)",
    )
    add("--length-candidates", type=Number(int, CANDIDATES), metavar="N", help="lengths to try")
    add(
        "--blank-penalty",
        type=Number(float, ANY),
        metavar="X",
        help="for --emission ctc: taken from the logit of writing nothing; more is longer",
    )
    add(
        "--word-bonus",
        type=Number(float, NATS),
        metavar="X",
        help="for --emission lattice: added for each word, in nats; more is longer",
    )
    add(
        "--lookahead",
        action="store_true",
        default=None,
        help="for --emission lattice: the likeliest next slot, not the likeliest path",
    )
    add(
        "--slot-beam",
        type=Number(int, HYPOTHESES),
        metavar="N",
        help="for --emission ctc or lattice: prefixes that a search keeps (default: 1, no search)",
    )
    add(
        "--ngram",
        metavar=FILE,
        help="n-gram model (ARPA) of the target language, in pieces as `fairseq-xling pieces` "
        "writes them, whose score the search adds to its own",
    )
    add(
        "--ngram-weight",
        type=Number(float, NOT_NEGATIVE),
        metavar="X",
        help="weight of its log-probability (default: 0.4)",
    )
    add(
        "--ngram-bonus",
        type=Number(float, ANY),
        metavar="X",
        help="added to the score for each word, in nats; more is longer (default: 1.5)",
    )
    add(
        "--rescore",
        metavar=FILE,
        help="checkpoint of `--task translation` with the same vocabulary, which chooses among the "
        "hypotheses",
    )
    add(
        "--rescore-weight",
        type=Number(float, SHARE),
        metavar="X",
        help="share of its log-probability in a hypothesis's score, next to its own (default: 0.7)",
    )
    add(
        "--rescore-bonus",
        type=Number(float, ANY),
        metavar="X",
        help="added to the score for each word, in nats; more is longer (default: 0.5)",
    )
    add(
        "--shortlist",
        metavar=FILE,
        help="of `fairseq-xling shortlist`: write only its words for the sentence's words",
    )
    add("--nbest", type=Number(int, CANDIDATES), default=1, metavar="N", help="hypotheses to write")
    add("--alignment", action="store_true", help="write which pieces come from which")
    add(
        "--batch-tokens",
        type=Number(int, COUNT),
        default=4096,
        metavar="N",
        help="maximum padded source tokens per batch",
    )
    add(
        "--buffer",
        type=Number(int, COUNT),
        metavar="N",
        help="lines that are read before they are translated (default: 2048, 1 at a terminal)",
    )
    add("--too-long", choices=("truncate", "refuse"), help="lines too long for the model")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--precision", default=precision.AUTO, choices=precision.CHOICES, help=precision.HELP)
    add("--int8", action="store_true", help="products with weights in 8 bits, on a CPU")


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.translate import translate_text

    translate_text(args)
