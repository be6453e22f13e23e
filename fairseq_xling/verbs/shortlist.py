"""List for each source token the target tokens that it is most often aligned with.

  fairseq-xling shortlist DATA --from en --to de --output en-de.safetensors

Counts the word alignments of a split of DATA. `--shortlist` of fairseq-generate and of
`fairseq-xling translate` reads the file: for a sentence, only its tokens' lists and the most
frequent tokens go through the output layer.
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import DATA, NEW_FILE
from fairseq_xling.core.options import REQUIRED, argument, option
from fairseq_xling.core.ranges import COUNT

GROUP = "Migrate"


@dataclasses.dataclass(frozen=True)
class Options:
    data: str = argument("data folder with word alignments", DATA)
    source: str = option(REQUIRED, "source language", metavar="LANG", flag="from")
    target: str = option(REQUIRED, "target language", metavar="LANG", flag="to")
    output: str = shared.output("file to write", NEW_FILE)
    split: str = option("train", "parallel text to count", metavar="SPLIT")
    linked: int = option(
        20,
        "target tokens listed for each source token, its own spelling included",
        range=COUNT,
    )
    frequent: int = option(
        100, "most frequent target tokens, which every sentence may have", range=COUNT
    )


def run(options: Options) -> None:
    from fairseq_xling.data.folder import PAD, DataFolder
    from fairseq_xling.data.shortlist import make_shortlist

    folder, pair = DataFolder(options.data), (options.source, options.target)
    found = make_shortlist(folder, pair, options.linked, options.frequent, options.split)
    found.write(options.output, folder, pair)
    listed = (found.linked != PAD).any(1).sum()
    print(
        f"{options.output}: up to {options.linked} tokens for each of {listed:,} source tokens, "
        f"and {len(found.frequent):,} frequent ones"
    )
