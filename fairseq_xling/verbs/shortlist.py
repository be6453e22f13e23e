"""List for each source token the target tokens that it is most often aligned with.

  fairseq-xling shortlist DATA --from en --to de --output en-de.safetensors

Counts the word alignments of a split of DATA. `--shortlist` of fairseq-generate and of
`fairseq-xling translate` reads the file: for a sentence, only its tokens' lists and the most
frequent tokens go through the output layer.
"""

import argparse

from fairseq_xling.named_files import DATA, NEW_FILE
from fairseq_xling.ranges import COUNT, Number

GROUP = "Migrate"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar=DATA, help="data folder with word alignments")
    add("--from", dest="source", required=True, metavar="LANG", help="source language")
    add("--to", dest="target", required=True, metavar="LANG", help="target language")
    add("--output", required=True, metavar=NEW_FILE, help="file to write")
    add("--split", default="train", metavar="SPLIT", help="parallel text to count")
    add(
        "--linked",
        type=Number(int, COUNT),
        default=20,
        metavar="N",
        help="target tokens listed for each source token, its own spelling included",
    )
    add(
        "--frequent",
        type=Number(int, COUNT),
        default=100,
        metavar="N",
        help="most frequent target tokens, which every sentence may have",
    )


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.data.folder import PAD, DataFolder
    from fairseq_xling.data.shortlist import make_shortlist
    from fairseq_xling.files import refuse_files_above

    refuse_files_above("--output", args.output)
    folder, pair = DataFolder(args.data), (args.source, args.target)
    found = make_shortlist(folder, pair, args.linked, args.frequent, args.split)
    found.write(args.output, folder, pair)
    listed = (found.linked != PAD).any(1).sum()
    print(
        f"{args.output}: up to {args.linked} tokens for each of {listed:,} source tokens, and "
        f"{len(found.frequent):,} frequent ones"
    )
