"""Tagging of languages without annotation, by mapped words and a language adversary."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("adversarial-tagging")
class AdversarialTagging:
    """Source only, mapped words, sentence adversary, both, a few target sentences, supervised."""

    help = "mapped words and a language adversary for tagging: six rows of supervision"
    spec_rows = ("E12",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.tagging.config import AdversarialTaggingConfig

        add_run_arguments(parser)
        add_options(parser, AdversarialTaggingConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.tagging.plan import run_adversarial_tagging

        run_adversarial_tagging(args)
