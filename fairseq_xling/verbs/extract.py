"""Write hidden states of a text to disk: vectors of subwords, word types or sentences.

  fairseq-xling extract checkpoint_best.pt --data data-bin --lang en --text en.txt \\
      --unit sentences --layers 0-4 --output states/en

OUTPUT/layerNN.npy   a row per subword, word type or line of the text; read it with
                     numpy.load(..., mmap_mode="r")
OUTPUT/meta.json     what a row is, and its provenance

`--unit static` writes rows of the embedding matrix instead, for words that are single subwords.

An interrupted call resumes when repeated, with the same result.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, FILE, NEW_FOLDER
from fairseq_xling.ranges import COUNT, Number

GROUP = "States and maps"
SPEC_ROWS = ("S4", "S5", "S7")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.verbs.parts.extraction import DTYPES
    from fairseq_xling.verbs.units import units

    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="model file")
    add("--data", required=True, metavar=DATA, help="the model's data folder")
    add("--text", required=True, metavar=FILE, help="UTF-8 text, a sentence per line, also .gz")
    add("--lang", required=True, help="language of the text")
    add("--unit", default="sentences", help=f"unit of a row: {', '.join(units)}")
    add("--layers", default="all", help="such as 0,2-4; 0 is the output of the embeddings")
    add("--dtype", default="float32", choices=DTYPES, help="type of the vectors on disk")
    add(
        "--max-tokens",
        type=Number(int, COUNT),
        default=8192,
        help="maximum padded tokens per batch",
    )
    add("--device", default="cpu", help="cpu, cuda or cuda:N")
    add("--output", required=True, metavar=NEW_FOLDER, help="folder to write; it must be new")
    for name in units:
        units[name].add_arguments(parser.add_argument_group(f"unit {name}"))


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.extract import run_extract

    run_extract(args)
