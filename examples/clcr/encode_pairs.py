"""Encode labelled pairs with a trained model: all rows of table 4, in one process.

    python examples/clcr/encode_pairs.py MODEL LABELS OUT roles=TEXT/roles nli=TEXT/nli

TASK=STEM are files STEM.{train,valid,test}.LANG.tsv in both languages, line by line translations.
The model's second language is the one that is trained on: only it has train and valid. Writes
OUT/ROW/TASK.SPLIT.LANG.{premise,hypothesis}, as `fairseq-xling clcr encode` does (the same verb
runs here; a process of its own for each would take longer to start than to run).
"""

import argparse
import itertools
from pathlib import Path

from fairseq_xling.cli import main as fairseq_xling
from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.papers.clcr.labelled import write_texts
from fairseq_xling.papers.clcr.labels import Labels
from fairseq_xling.papers.clcr.sequence_variants import rows

ROWS = ("T+pGA", "T", "T+E", "T+E+R")
SIDES = ("premise", "hypothesis")


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="checkpoint with all modules")
    parser.add_argument("labels", help="folder of `fairseq-xling clcr label` of a split")
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("tasks", nargs="+", metavar="TASK=STEM")
    parser.add_argument("--rows", default=",".join(ROWS), help="rows to write")
    parser.add_argument("--delta", default="0.2", help="words with p(key-point) above are kept")
    parser.add_argument("--order", default="rel", help="order head: rel or abs")
    args = parser.parse_args()
    labels = Labels(args.labels)
    for task, _, stem in (text.partition("=") for text in args.tasks):
        splits = [(split, labels.pair[1]) for split in ("train", "valid", "test")]
        for (split, lang), row in itertools.product(
            [*splits, ("test", labels.pair[0])], args.rows.split(",")
        ):
            texts = {}
            for one in labels.pair:
                texts[one] = args.output / "text" / f"{task}.{split}.{one}"
                write_texts(Path(f"{stem}.{split}.{one}.tsv"), str(texts[one]), "", "")
            other = labels.pair[lang == labels.pair[0]]
            for side in SIDES:
                options = ["--text", f"{texts[lang]}.{side}", "--lang", lang, "--row", row]
                options += ["--delta", args.delta, "--order", args.order, "--dtype", "float16"]
                if rows[row].reads_translation:
                    options += ["--translation", f"{texts[other]}.{side}"]
                    options += ["--threshold", repr(labels.threshold)]
                output = args.output / row / f"{task}.{split}.{lang}.{side}"
                command = ["clcr", "encode", args.model, *options, "--output", str(output)]
                if fairseq_xling(command):
                    raise UserError(f"{output}: could not be written, see above")


if __name__ == "__main__":
    main()
