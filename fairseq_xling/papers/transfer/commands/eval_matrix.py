"""Fine-tune encoders on each language and test each model on every language: a matrix.

  fairseq-xling eval matrix --encoder checkpoint_best.pt --data data-bin --head pos \\
      --train en=en.train --train de=de.train --valid en=en.dev --valid de=de.dev \\
      --test en=en.test --test de=de.test --output runs/pos

As `fairseq-xling eval transfer`, with a model for each --train, validated on the --valid of the
same language. The diagonal is supervised.
"""

import argparse

from fairseq_xling.core.extras import OF_PAGES, check_installed

GROUP = "Transfer"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.papers.transfer.zero_shot import Matrix

    Matrix().add_arguments(parser)


def run(args: argparse.Namespace) -> None:
    check_installed("`fairseq-xling eval matrix`", *OF_PAGES)
    from fairseq_xling.papers.transfer.zero_shot import Matrix

    Matrix().run(args)
