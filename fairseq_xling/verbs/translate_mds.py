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

import dataclasses

from fairseq_xling import options as shared
from fairseq_xling.named_files import CHECKPOINT, DATA, FILE, OutputFile
from fairseq_xling.options import REQUIRED, argument, option
from fairseq_xling.ranges import COUNT

GROUP = "Analyse"
SPEC_ROWS = ("S11", "S12")


@dataclasses.dataclass(frozen=True)
class Options:
    checkpoint: str = argument("model file", CHECKPOINT)
    data: str = option(REQUIRED, "the model's data folder", metavar=DATA)
    source: str = option(REQUIRED, "language of the text", metavar="LANG", flag="from")
    target: str = option(REQUIRED, "language to write", metavar="LANG", flag="to")
    text: str = option(REQUIRED, "UTF-8 text, a sentence per line, also .gz", metavar=FILE)
    reference: str | None = option(None, "its translation, line by line, for BLEU-1", metavar=FILE)
    layer: int | None = option(None, "layer to shift, from 1", range=COUNT, metavar="LAYER")
    alpha: float | None = option(
        None,
        "size of the shift, in mean differences; 0 is the unshifted model",
        metavar="ALPHA",
    )
    layers: str | None = option(None, "grid: layers such as 1-12 or 6,8-11", metavar="LAYERS")
    alphas: str | None = option(
        None, "grid: such as 1,2,3 or, with =, --alphas=-1,1", metavar="NUMBERS"
    )
    fixed: str | None = option(
        None,
        "grid: a setting to report next to the best, such as 11,3",
        metavar="LAYER,ALPHA",
    )
    means: tuple[str, ...] | None = option(
        None,
        "means of both languages, of `fairseq-xling mean` (default: those of --means-split)",
        metavar=FILE,
        words=2,
    )
    means_split: str = option("valid", "split of the data folder for the means", metavar="SPLIT")
    vocabulary_split: str = option(
        "train", "split whose tokens are a language's, for the convert rate", metavar="SPLIT"
    )
    tokenizer: str | None = option(
        None, "sacrebleu's (default: 13a, zh for zh, char for ja)", metavar="TOKENIZER"
    )
    max_tokens: int = shared.max_tokens()
    device: str = shared.device()
    output: str = option(
        REQUIRED, "file to write, or folder of a grid", metavar=OutputFile("OUTPUT", "{}.json")
    )


def run(options: Options) -> None:
    from fairseq_xling.verbs.parts.translate_mds import run_translate

    run_translate(options)
