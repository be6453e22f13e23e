"""Train ESIM on frozen sequences of one language and test it on others, with the transfer gap.

  fairseq-xling clcr classify --train en=train.en.tsv --valid en=dev.en.tsv \\
      --test en=test.en.tsv --test zh=test.zh.tsv --seeds 1,2,3 \\
      --vectors "T=seq/T/{file}.{side}" --vectors "T+E=seq/TE/{file}.{side}" \\
      --vectors "T+E+R=seq/TER/{file}.{side}" --output runs/nli

Labelled files are as for `eval transfer --head classification`: premise, hypothesis, label,
separated by tabs. Each --vectors is a row of the table; seq/T/train.en.premise then holds the
sequences of the premises of train.en.tsv, as `fairseq-xling clcr encode` writes them. What
`clcr run` with encode-pairs train.premise=..., train.hypothesis=... wrote for several seeds is
--vectors "T+E=RUN/sequences/{seed}/T+E/{name}.{side}.{lang}"

Trains on the source language alone, keeps the epoch that is best on its dev file, and tests on
every language. Writes table.md, table.csv, plot.svg, results.json and predictions in the format of
the test files. If interrupted, the same command resumes with the next training.
"""

import argparse

from fairseq_xling.core.extras import OF_PAGES, check_installed
from fairseq_xling.core.named_files import NEW_FOLDER

GROUP = "CLCR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.clcr.labelled import ClassifyConfig
    from fairseq_xling.workflow.options import add_options

    parser.add_argument("--output", required=True, metavar=NEW_FOLDER, help="folder of the run")
    add_options(parser, ClassifyConfig)


def run(args: argparse.Namespace) -> None:
    check_installed("`fairseq-xling clcr classify`", *OF_PAGES)
    from fairseq_xling.papers.clcr.classify import run_classify

    run_classify(args)
