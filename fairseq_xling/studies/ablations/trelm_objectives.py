"""Objectives of the transfer phase (TreLM, Tables 7 and 8)."""

import argparse
from typing import Any

from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import Row, TrelmStudy


@STUDIES.register("trelm-objectives")
class TrelmObjectives(TrelmStudy):
    """CdLM, its variants and what came before it, with the same steps in each row."""

    help = "CdLM, CdLM*, TLM and BRLM, and without the TRILayer: TreLM, Tables 7 and 8"
    title = "TreLM: objectives of the transfer phase"
    spec_rows = ("T19", "T20")
    lead = "The same migration with other objectives on the parallel text."
    notes = (
        "Row cdlm-star has separate vocabularies and no language embeddings; its "
        "bits per word are of other subwords, and not comparable with the other rows'.",
        "The rows of BRLM are reimplementations: the paper it comes from has no public code.",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        plain = {"auxiliary": ""}  # nothing teaches translation there
        return [
            Row("cdlm", "CdLM", {"transfer_objectives": "cdlm,mlm"}, 1.548),
            Row(
                "cdlm-star",
                "CdLM*: separate vocabularies",
                {
                    "transfer_objectives": "cdlm,mlm",
                    "vocab": "separate",
                    "separate": "tokens,softmax",
                    "arch": "tri_encoder",  # without language embeddings
                },
                needs_text=True,
            ),
            Row(
                "tlm",
                "without CdLM (MLM + TLM)",
                {"transfer_objectives": "tlm,mlm", **plain},
                3.028,
            ),
            Row(
                "tlm-no-trilayer",
                "also without TRILayer",
                {"transfer_objectives": "tlm,mlm", "trilayer": False, **plain},
                3.469,
            ),
            Row(
                "brlm-mask",
                "BRLM, masked bridges",
                {"transfer_objectives": "brlm-mask,mlm", **plain},
            ),
            Row(
                "brlm-attn",
                "BRLM, restricted attention",
                {"transfer_objectives": "brlm-attn,mlm", **plain},
            ),
        ]
