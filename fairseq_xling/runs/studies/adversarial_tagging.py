"""Tagging of languages without annotation, by mapped words and a language adversary."""

import argparse

from fairseq_xling.runs.studies import STUDIES


@STUDIES.register("adversarial-tagging")
class AdversarialTagging:
    """Source only, mapped words, sentence adversary, both, a few target sentences, supervised."""

    help = "mapped words and a language adversary for tagging: six rows of supervision"
    spec_rows = ("E12",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.adversarial_tagging_config import AdversarialTaggingConfig
        from fairseq_xling.runs.config_file import add_options, add_run_arguments

        add_run_arguments(parser)
        add_options(parser, AdversarialTaggingConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.runs.adversarial_tagging import run_adversarial_tagging

        run_adversarial_tagging(args)
