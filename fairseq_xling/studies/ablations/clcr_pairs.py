"""How much parallel text CLCR needs (CLCR, Appendix C)."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("clcr-pairs")
class ClcrPairs:
    """The same training on nested subsets of the sentence pairs."""

    help = "distance, pivots, accuracy and time of CLCR by the number of sentence pairs"
    spec_rows = ("C17",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.clcr.pairs_config import ClcrPairsConfig

        add_run_arguments(parser)
        add_options(parser, ClcrPairsConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.clcr.pairs import run_clcr_pairs

        run_clcr_pairs(args)
