"""Relate zero-shot NER F1 to the share of subwords common to training and test entities.

  fairseq-xling eval overlap runs/ner --output runs/ner-overlap

RUN is the folder of a `fairseq-xling eval transfer` or `eval matrix` with a head of BIO spans. Its
files and data folders are read again, so run this in the same directory. Writes a scatter plot,
tables, a report and results.json; prints the table and the correlations.
"""

import dataclasses

from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import NEW_FOLDER, RUN
from fairseq_xling.core.options import REQUIRED, argument, option

GROUP = "Transfer"


@dataclasses.dataclass(frozen=True)
class Options:
    runs: tuple[str, ...] = argument("folder of a finished run with --head ner", RUN, words="+")
    output: str = option(REQUIRED, "folder for plot, tables and report", metavar=NEW_FOLDER)


def run(options: Options) -> None:
    check_installed("`fairseq-xling eval overlap`", *OF_PAGES)
    from fairseq_xling.papers.transfer.properties import run_overlap

    print(run_overlap(options))
