"""Translate token by token using the mean difference of two languages.

  fairseq-xling translate mds checkpoint_best.pt --data data-bin --from en --to de \\
      --layer 10 --alpha 2 --text en.txt --output de.txt
  fairseq-xling translate mds checkpoint_best.pt --data data-bin --from en --to de \\
      --layers 1-12 --alphas 1,2,3,-1 --text en.txt --reference de.txt --output runs/mds

The states of a layer are shifted by alpha times (mean of --to minus mean of --from), pass through
the layers above, and every position outputs its most probable token; nothing is masked (Liu et al.
2020, section 4.2). The first form writes the translation, and OUTPUT.json with the convert rate
and, with a --reference, BLEU-1. The second writes a table of both for every layer and alpha, a
figure, and all translations into the folder OUTPUT; if interrupted, the same command resumes, and
layers and alphas can be added later.
"""

import argparse

from fairseq_xling.named_files import CHECKPOINT, DATA, FILE, OutputFile
from fairseq_xling.ranges import ANY, COUNT, Number

GROUP = "Analyse"
SPEC_ROWS = ("S11", "S12")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("checkpoint", metavar=CHECKPOINT, help="model file")
    add("--data", required=True, metavar=DATA, help="the model's data folder")
    add("--from", required=True, dest="source", metavar="LANG", help="language of the text")
    add("--to", required=True, dest="target", metavar="LANG", help="language to write")
    add("--text", required=True, metavar=FILE, help="UTF-8 text, a sentence per line, also .gz")
    add("--reference", metavar=FILE, help="its translation, line by line, for BLEU-1")
    add("--layer", type=Number(int, COUNT), help="layer to shift, from 1")
    add(
        "--alpha",
        type=Number(float, ANY),
        help="size of the shift, in mean differences; 0 is the unshifted model",
    )
    add("--layers", metavar="LAYERS", help="grid: layers such as 1-12 or 6,8-11")
    add("--alphas", metavar="NUMBERS", help="grid: such as 1,2,3 or, with =, --alphas=-1,1")
    add(
        "--fixed",
        metavar="LAYER,ALPHA",
        help="grid: a setting to report next to the best, such as 11,3",
    )
    add(
        "--means",
        nargs=2,
        metavar=FILE,
        help="means of both languages, of `fairseq-xling mean` (default: those of --means-split)",
    )
    add(
        "--means-split",
        default="valid",
        metavar="SPLIT",
        help="split of the data folder for the means",
    )
    add(
        "--vocabulary-split",
        default="train",
        metavar="SPLIT",
        help="split whose tokens are a language's, for the convert rate",
    )
    add("--tokenizer", help="sacrebleu's (default: 13a, zh for zh, char for ja)")
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
        metavar=OutputFile("OUTPUT", "{}.json"),
        help="file to write, or folder of a grid",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.verbs.parts.translate_mds import run_translate

    run_translate(args)
