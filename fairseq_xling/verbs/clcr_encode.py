"""Write sequences of vectors, alike for a sentence and its translation as far as this was learnt.

  fairseq-xling clcr encode model.pt --lang en --text en.txt --row T+E+R --output sequences/en
  fairseq-xling clcr encode model.pt --lang de --text de.txt --row T,T+E --output seq/{row}/de

Rows: T (all words), T+E (key-points), T+E+R (key-points in the second language's order), T+pGA
(pivots found with --translation, in their order), T+pGA-target (pivots of the first language, all
words of the second) and states (all words before T, for probes).
States of the model's first language are transformed; those of the second are unchanged.

OUTPUT is read by `fairseq-xling clcr classify` and `clcr report`, and in Python by
fairseq_xling.clcr.sequences.Sequences. An interrupted call resumes when repeated.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, FILE, NEW_FOLDER
from fairseq_xling.ranges import COUNT, POSITIVE, SHARE, Number, Range

GROUP = "CLCR"
SPEC_ROWS = ("C14",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="of fairseq-train --task clcr")
    add("--data", metavar=DATA, help="its data folder, if it has moved")
    add("--text", required=True, metavar=FILE, help="UTF-8 text, a sentence per line, also .gz")
    add("--lang", required=True, help="language of the text, one of the model's two")
    add(
        "--row",
        default="T+E+R",
        help="T, T+E, T+E+R, T+pGA, T+pGA-target or states, comma-separated",
    )
    add("--delta", type=Number(float, SHARE), metavar="P",
        help="words with p(key-point) above P are kept (default: as in training)")  # fmt: skip
    add("--order", default="rel", help="order head of row T+E+R: rel or abs")
    add("--reorder", default="first", metavar="SIDE",
        help="language that rows T+E+R and T+pGA put into the other's order: first or second of "
        "the model's two")  # fmt: skip
    add("--search", default="beam", metavar="NAME",
        help="search for its order: beam; local or exact for rel, hungarian for abs")  # fmt: skip
    add(
        "--beam",
        type=Number(int, Range(1, 10_000)),
        default=10,
        metavar="N",
        help="beam width",
    )
    add("--weigh", default="", metavar="NAME",
        help="cost of a pair in the wrong order or, for abs, of a position: probability or "
        "likelihood; for rel also sign, the paper's (default: likelihood)")  # fmt: skip
    add(
        "--translation",
        metavar=FILE,
        help="the text in the other language, for rows T+pGA and T+pGA-target",
    )
    add(
        "--threshold",
        type=Number(float, POSITIVE),
        metavar="D",
        help="pivots are closer than D, for rows T+pGA and T+pGA-target",
    )
    add("--dtype", default="float32", choices=("float32", "float16"), help="type on disk")
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        help="maximum padded tokens per batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add(
        "--output",
        required=True,
        metavar=NEW_FOLDER,
        help="folder to write; it must be new; {row} in it stands for the row's name",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.clcr_encode import run_encode

    run_encode(args)
