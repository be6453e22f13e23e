"""Run a paper's ablation study and write its table.

  fairseq-xling ablate emerging-structure --data-text text --output runs/ablation --seeds 1,2,3

If interrupted, the same command resumes; a setting or seed that is added later runs alone.
"""

import argparse

GROUP = "Studies and reports"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from fairseq_xling.studies.ablations import STUDIES

    studies = parser.add_subparsers(dest="study", required=True, metavar="STUDY")
    for name in STUDIES:
        study = STUDIES[name]()
        study.add_arguments(studies.add_parser(name, help=study.help, description=study.help))


def run(args: argparse.Namespace) -> None:
    from fairseq_xling.core.extras import OF_STUDIES, check_installed
    from fairseq_xling.studies.ablations import STUDIES

    check_installed("`fairseq-xling ablate`", *OF_STUDIES)
    STUDIES[args.study]().run(args)
