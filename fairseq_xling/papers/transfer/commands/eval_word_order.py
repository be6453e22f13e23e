"""Relate zero-shot scores to the word-order features that two languages share.

  fairseq-xling eval word-order runs/pos --features wals.tsv --output runs/pos-word-order

RUN is the folder of a `fairseq-xling eval transfer` or `eval matrix` of any head. You supply the
features, for example from the World Atlas of Language Structures: a header with `language` and the
features' names, then a tab-separated row per language; an empty cell is unknown. Writes a
scatter plot, tables, a report and results.json; prints the table and the correlations.
"""

import dataclasses

from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import NEW_FOLDER, RUN, Input
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "Transfer"


@dataclasses.dataclass(frozen=True)
class Options:
    runs: tuple[str, ...] = argument("folder of a finished run", RUN, words="+")
    features: str = option(REQUIRED, "features by language", metavar=Input("TSV"))
    output: str = option(REQUIRED, "folder for plot, table and report", metavar=NEW_FOLDER)


def run(options: Options) -> None:
    check_installed("`fairseq-xling eval word-order`", *OF_PAGES)
    from fairseq_xling.papers.transfer.properties import run_word_order

    print(run_word_order(options))
