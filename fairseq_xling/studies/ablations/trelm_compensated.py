"""Whether more monolingual text and steps compensate for CdLM (TreLM, Table 3)."""

import argparse
from typing import Any

from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import Row, TrelmStudy


@STUDIES.register("trelm-compensated")
class TrelmCompensated(TrelmStudy):
    """Without the transfer phase, but with its text, as monolingual text, and its steps."""

    help = "without CdLM, compensated by monolingual text and steps: TreLM, Table 3"
    title = "TreLM: compensation for the transfer phase"
    spec_rows = ("T21",)
    lead = (
        "The migration without transfer, and again with as many more target sentences as there are "
        "sentence pairs, and more steps."
    )
    notes = (
        "Row same-steps has as many optimiser steps as the whole migration, whose transfer phase "
        "trains two models; row paper has as many additional steps as the last phase has (80K "
        "there).",
    )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        without = {"transfer_steps": 0, "auxiliary": ""}
        same = config.language_steps + 2 * config.transfer_steps
        more = {**without, "extra_mono": True}
        return [
            Row("full", "with transfer"),
            Row("without", "without transfer", without),
            Row("same-steps", "compensated, same steps", {**more, "language_steps": same}),
            Row(
                "paper",
                "compensated as in the paper",
                {**more, "language_steps": 2 * config.language_steps},
            ),
        ]
