"""The contribution of a migration's two main parts (TreLM, sections 3.1 and 3.2)."""

import argparse
from typing import Any

from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import Row, TrelmStudy


@STUDIES.register("trelm-parts")
class TrelmParts(TrelmStudy):
    """The full migration, and without CdLM or without the embeddings' alignment, in equal steps."""

    help = "the whole migration, without CdLM, and without alignment of the embeddings"
    title = "TreLM: what its parts give"
    lead = "The same migration without one of its parts."
    notes = (
        "Without CdLM, the transfer phase trains with MLM and TLM on the same sentence pairs for "
        "as "
        "many steps; such a model is not trained to translate.",
        "Without alignment, embeddings of new words are unmapped vectors, and no word "
        "gets "
        "the source's embedding of the same spelling.",
        "The autoregressive translation model is in the row whose training time it was given.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        from fairseq_xling.studies.trelm.vector_ways import trained_way

        alone = {"autoregressive": False}
        return [
            Row("full", "the full migration"),
            Row(
                "no-cdlm",
                "without CdLM",
                {"transfer_objectives": "tlm,mlm", "auxiliary": "", **alone},
            ),
            Row(
                "no-alignment",
                "without alignment of the embeddings",
                {
                    "embeddings": trained_way(config.embeddings),
                    "mapping": "none",
                    "copy_shared": False,
                    **alone,
                },
            ),
        ]
