"""Transfer through a map between two encoders, by layer (Conneau et al. 2020, section 5.1.2)."""

import argparse

from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("mapped-layers")
class MappedLayers:
    """Heads on each frozen layer, read from another language's encoder with and without a map."""

    help = (
        "zero-shot transfer between encoders by a map of each layer: section 5.1.2 of "
        "Emerging Cross-lingual Structure"
    )
    spec_rows = ("S6",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options
        from fairseq_xling.studies.mbert.mapped_layers_config import MappedLayersConfig

        add_run_arguments(parser)
        add_options(parser, MappedLayersConfig)

    def run(self, args: argparse.Namespace) -> None:
        from fairseq_xling.studies.mbert.mapped_layers_study import run_mapped_layers

        run_mapped_layers(args)
