"""The studies of `fairseq-xling ablate`, found by name: those below, and a file each in this folder
and those of papers.

A study is a class with ``help``, ``add_arguments(parser)`` and ``run(args)``. Heavy imports belong
inside ``run``: the options of all studies are declared before any is run.
"""

import argparse
import pkgutil
from typing import Protocol

from fairseq_xling.registry import Registry


class Study(Protocol):
    """One of ``STUDIES``.

    ``spec_rows``, if any, are the rows of the specification that it implements.
    """

    help: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Its options."""

    def run(self, args: argparse.Namespace) -> None:
        """Run what is not done yet and write the tables."""


STUDIES: Registry[type[Study]] = Registry(
    "study",
    __name__,
    "fairseq_xling.papers.clcr.ablations_study",
    "fairseq_xling.papers.mbert.token_translation_study",
    "fairseq_xling.papers.trelm.ablations",
)


class _ConfiguredStudy:
    """A study whose options are those of a run and the fields of ``config``, and which ``plan``
    runs; both are ``module:name`` of papers."""

    config: str
    plan: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from fairseq_xling.runs.launcher import add_run_arguments
        from fairseq_xling.runs.options import add_options

        add_run_arguments(parser)
        add_options(parser, _named(self.config))

    def run(self, args: argparse.Namespace) -> None:
        _named(self.plan)(args)


def _named(place: str) -> type:
    return pkgutil.resolve_name(f"fairseq_xling.papers.{place}")


@STUDIES.register("adversarial-tagging")
class AdversarialTagging(_ConfiguredStudy):
    """Source only, mapped words, sentence adversary, both, a few target sentences, supervised."""

    help = "mapped words and a language adversary for tagging: six rows of supervision"
    spec_rows = ("E12",)
    config = "transfer.tagging.config:AdversarialTaggingConfig"
    plan = "transfer.tagging.plan:run_adversarial_tagging"


@STUDIES.register("emerging-structure")
class EmergingStructure(_ConfiguredStudy):
    """Which anchors, domain and sharing a bilingual masked language model needs to align: Table 1
    of Conneau et al. (2020)."""

    help = "anchors, domain and parameter sharing: Table 1 of Emerging Cross-lingual Structure"
    spec_rows = (*(f"A{number}" for number in range(1, 11)), "A12")
    config = "emerging.config:AblationConfig"
    plan = "emerging.plan:run_ablation"


@STUDIES.register("mapped-layers")
class MappedLayers(_ConfiguredStudy):
    """Heads on each frozen layer, read from another language's encoder with and without a map
    (Conneau et al. 2020, section 5.1.2)."""

    help = (
        "zero-shot transfer between encoders by a map of each layer: section 5.1.2 of "
        "Emerging Cross-lingual Structure"
    )
    spec_rows = ("S6",)
    config = "emerging.mapped_layers_config:MappedLayersConfig"
    plan = "emerging.mapped_layers_study:run_mapped_layers"


@STUDIES.register("similarity")
class Similarity(_ConfiguredStudy):
    """Retrieval, CKA and word translation of bilingual, monolingual and random encoders (Conneau
    et al. 2020, section 5)."""

    help = (
        "similarity of encoders of two languages, trained jointly or independently: section 5 and "
        "Figure 7 of Emerging Cross-lingual Structure"
    )
    spec_rows = ("S9",)
    config = "emerging.similarity_config:SimilarityConfig"
    plan = "emerging.similarity_study:run_similarity"


@STUDIES.register("size-window")
class SizeWindow(_ConfiguredStudy):
    """GloVe, Word2Vec and a masked LM on texts of several sizes, cut into long or short pieces
    (Liu et al. 2020, section 3.2)."""

    help = "size of the text and length of its segments, for GloVe, Word2Vec and a masked LM"
    spec_rows = ("E11",)
    config = "mbert.size_window_config:SizeWindowConfig"
    plan = "mbert.size_window_study:run_size_window"
