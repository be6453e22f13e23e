"""Independently trained encoders compared layer by layer (Conneau et al. 2020, section 5)."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("similarity")
class Similarity:
    """Retrieval, CKA and word translation of bilingual, monolingual and random encoders."""

    help = (
        "similarity of encoders of two languages, trained jointly or independently: section 5 and "
        "Figure 7 of Emerging Cross-lingual Structure"
    )
    spec_rows = ("S9",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.mbert.similarity_config import SimilarityConfig

        add_run_arguments(parser)
        add_options(parser, SimilarityConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.mbert.similarity_study import run_similarity

        run_similarity(args)
