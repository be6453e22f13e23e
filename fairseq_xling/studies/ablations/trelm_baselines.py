"""Encoders trained from scratch, to compare with migration (TreLM, Table 2 and Appendix A.5)."""

import argparse
import functools
import shlex
from typing import Any

from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import Row, TrelmStudy


@STUDIES.register("trelm-baselines")
class TrelmBaselines(TrelmStudy):
    """A small BERT of the target language, and multilingual models with MLM, and with MLM + TLM."""

    help = "small BERT and multilingual models from scratch: TreLM, Table 2 and Appendix A.5"
    title = "TreLM: migration and training from scratch"
    spec_rows = ("P10", "P11")
    lead = "Each row has as many optimiser steps as the migration, on the same data folder."
    notes = (
        "Tokens are those that the models read, with repetitions; batches are the same, so "
        "rows differ in tokens only if their sentences differ in length.",
        "The paper's multilingual models have three languages; these have the pair's two.",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--small-model",
            default="--arch separable_transformer_small",
            metavar="OPTIONS",
            help="model options of the small BERT, as one text (default: %(default)s, the paper's)",
        )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        from fairseq_xling.studies.trelm.scratch import add_scratch

        def scratch(**how: Any) -> Any:
            return functools.partial(add_scratch, **how)

        def small(book, config, facts, target, seed, label):
            return add_scratch(
                book, config, facts, target, seed, label, task="bilingual_mlm", objectives="mlm",
                languages=[target], model=shlex.split(args.small_model),
            )  # fmt: skip

        return [
            Row("migrated", "migrated from the source encoder"),
            Row("small-bert", "small BERT of the target language", add=small),
            Row(
                "mlm",
                "multilingual, MLM",
                add=scratch(task="cdlm", objectives="mlm"),
            ),
            Row(
                "mlm-tlm",
                "multilingual, MLM + TLM",
                add=scratch(task="cdlm", objectives="mlm,tlm"),
            ),
        ]
