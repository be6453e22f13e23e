"""Readings of what TreLM (Sections 3.1 and 3.2) leaves open, and those of its release."""

import argparse
from typing import Any

from fairseq_xling.papers.trelm.study import TrelmStudy, Variation
from fairseq_xling.studies.ablations import STUDIES


@STUDIES.register("trelm-readings")
class TrelmReadings(TrelmStudy):
    """One row for each other reading; the first has the defaults."""

    help = "what the paper leaves open, and its release: rules, null token, starts of new parts"
    title = "TreLM: readings of what the paper leaves open"
    spec_rows = ("G1", "G2", "G3", "G4", "G5", "G6", "G10")
    lead = "The same migration, with one point read in another way."
    notes = (
        "A target word with several aligned source words takes the first of them (defaults), the "
        "last, as in the release, or the mean of all.",
        "The release has a masked `[PAD]` as its null token, always the second language at the "
        "input, and the source's mask above the TRILayer (`--compat`).",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Variation]:
        def reading(code: str, name: str, part: str, option: str) -> Variation:
            words = f"{getattr(config, part)} {option}".strip()
            return Variation(code, name, {part: words}, needs_text=part == "prepare_args")

        return [
            Variation("defaults", "our readings"),
            reading("last", "several source words: the last", "prepare_args", "--many-to-one last"),
            reading("mean", "several source words: the mean", "prepare_args", "--many-to-one mean"),
            reading(
                "release", "null token, languages, masks of the release", "train_args", "--compat"
            ),
            reading("layer", "TRILayer begins as layer N/2", "init_args", "--trilayer-from text"),
            reading("normal", "normal language embeddings", "init_args", "--language-init normal"),
            reading("head", "the source's LM head is kept", "init_args", "--head keep"),
        ]
