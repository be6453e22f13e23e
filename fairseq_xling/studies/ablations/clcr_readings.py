"""Readings of what CLCR leaves open (Sections 3.1 to 3.3), and its attention."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("clcr-readings")
class ClcrReadings:
    """One row for each other reading; the first has the settings of the configuration."""

    help = "what CLCR leaves open: attention, annealed phases, encoder of key-points, order"
    spec_rows = ("C4", "C10", "C13", "C15")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.clcr.readings_config import ClcrReadingsConfig

        add_run_arguments(parser)
        add_options(parser, ClcrReadingsConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.clcr.readings import run_clcr_readings

        run_clcr_readings(args)
