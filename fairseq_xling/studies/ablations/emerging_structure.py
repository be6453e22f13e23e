"""The ablation table of "Emerging Cross-lingual Structure" (Conneau et al. 2020), Table 1."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("emerging-structure")
class EmergingStructure:
    """Which anchors, domain and sharing a bilingual masked language model needs to align."""

    help = "anchors, domain and parameter sharing: Table 1 of Emerging Cross-lingual Structure"
    spec_rows = (*(f"A{number}" for number in range(1, 11)), "A12")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.emerging.config import AblationConfig

        add_run_arguments(parser)
        add_options(parser, AblationConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.emerging.plan import run_ablation

        run_ablation(args)
