"""More text against longer windows (Liu et al. 2020, section 3.2)."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("size-window")
class SizeWindow:
    """GloVe, Word2Vec and a masked LM on texts of several sizes, cut into long or short pieces."""

    help = "size of the text and length of its segments, for GloVe, Word2Vec and a masked LM"
    spec_rows = ("E11",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.mbert.size_window_config import SizeWindowConfig

        add_run_arguments(parser)
        add_options(parser, SizeWindowConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.mbert.size_window_study import run_size_window

        run_size_window(args)
