"""Write sequences of vectors: the same for a sentence and its translation, as far as it was learnt.

  fairseq-xling clcr encode model.pt --lang en --text en.txt --row T+E+R --output sequences/en
  fairseq-xling clcr encode model.pt --lang de --text de.txt --row T,T+E --output seq/{row}/de

Rows: T (all words), T+E (key-points), T+E+R (key-points in the second language's order), T+pGA
(pivots found with --translation, in their order) and states (all words before T, for probes).
States of the model's first language are transformed, those of the second stay as they are.

OUTPUT is read by `fairseq-xling clcr classify` and `clcr report`, and in Python by
fairseq_xling.clcr.sequences.Sequences. An interrupted call goes on when it is repeated.
"""

import argparse

GROUP = "CLCR"
SPEC_ROWS = ("C14",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar="CHECKPOINT", help="of fairseq-train --task clcr")
    add("--data", metavar="DATA", help="its data folder, where it has moved")
    add("--text", required=True, metavar="FILE", help="UTF-8 text, a sentence per line, also .gz")
    add("--lang", required=True, help="language of the text, one of the model's two")
    add("--row", default="T+E+R", help="T, T+E, T+E+R, T+pGA or states, or several, by commas")
    add("--delta", type=float, metavar="P",
        help="words with p(key-point) above P are kept (None: as in training)")  # fmt: skip
    add("--order", default="rel", help="order head of row T+E+R: rel or abs")
    add("--search", default="beam", metavar="NAME",
        help="how its order is found: beam; local or exact of rel, hungarian of abs")  # fmt: skip
    add(
        "--beam", type=int, default=10, metavar="N", help="hypotheses of a beam search, up to 10000"
    )
    add("--weigh", default="", metavar="NAME",
        help="what rel pays for a pair in the wrong order: sign (the paper's), probability or "
        "likelihood (none: likelihood)")  # fmt: skip
    add("--translation", metavar="FILE", help="the text in the other language, for row T+pGA")
    add("--threshold", type=float, metavar="D", help="pivots are nearer than D, for row T+pGA")
    add("--dtype", default="float32", choices=("float32", "float16"), help="type on disk")
    add("--max-tokens", type=int, default=8192, help="most padded tokens in a batch")
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add(
        "--output",
        required=True,
        metavar="DIR",
        help="folder to write, which must be new; {row} in it stands for the row's name",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.clcr.run_encode import run_encode

    run_encode(args)
