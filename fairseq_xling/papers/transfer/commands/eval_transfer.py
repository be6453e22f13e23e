"""Fine-tune encoders on one language and test them on others: one table.

  fairseq-xling eval transfer --encoder checkpoint_best.pt --data data-bin --head ner \\
      --train en=train.conll --valid en=dev.conll --test de=test.conll --output runs/ner
  fairseq-xling eval transfer --config ner.yaml --output runs/ner --dry-run

Every encoder is trained with every setting of the grid (--lrs, --head-lrs, --batch-sizes) and seed;
the settings that are best on the source language's dev file are tested. Writes the table, a report,
all scores and all predictions, in the format of the test files. Several test sets (--test de=FILE
--test test1.de=FILE) each have a row of their own. If interrupted, the same command resumes.
"""

import argparse

from fairseq_xling.core.extras import OF_PAGES, check_installed

GROUP = "Transfer"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.transfer.zero_shot import ZeroShot

    ZeroShot().add_arguments(parser)


def run(args: argparse.Namespace) -> None:
    check_installed("`fairseq-xling eval transfer`", *OF_PAGES)
    from fairseq_xling.papers.transfer.zero_shot import ZeroShot

    ZeroShot().run(args)
