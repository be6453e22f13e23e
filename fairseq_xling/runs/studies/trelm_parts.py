"""What a migration owes to its two main parts (TreLM, sections 3.1 and 3.2, on the user's text)."""

import argparse
from typing import Any

from fairseq_xling.runs.studies import STUDIES
from fairseq_xling.trelm.run_study import Row, TrelmStudy


@STUDIES.register("trelm-parts")
class TrelmParts(TrelmStudy):
    """The whole, and without CdLM or without the embeddings' alignment, with the same steps."""

    help = "the whole migration, without CdLM, and without alignment of the embeddings"
    title = "TreLM: what its parts give"
    lead = "The same migration without one of its parts."
    notes = (
        "Without CdLM, the transfer phase learns by MLM and TLM on the same sentence pairs for as "
        "many steps; nothing teaches such a model to translate.",
        "Without alignment, embeddings of new words are skip-gram vectors as they are, not brought "
        "among the source's embeddings, and no word takes the embedding of one spelt alike.",
        "The ordinary translation model stands in the row whose time it was given.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        alone = {"autoregressive": False}
        return [
            Row("full", "the whole migration"),
            Row(
                "no-cdlm",
                "without CdLM",
                {"transfer_objectives": "tlm,mlm", "auxiliary": "", **alone},
            ),
            Row(
                "no-alignment",
                "without alignment of the embeddings",
                {
                    "embeddings": "skip-gram",
                    "mapping": "none",
                    "copy_shared": False,
                    **alone,
                },
            ),
        ]
