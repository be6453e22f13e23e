"""How much parallel text the transfer phase needs (TreLM, Figure 2)."""

import argparse
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.trelm.study import Row, TrelmStudy


@STUDIES.register("trelm-parallel")
class TrelmParallel(TrelmStudy):
    """Nested subsets of the sentence pairs."""

    help = "bits per word by the size of the parallel text: TreLM, Figure 2"
    title = "TreLM: how much parallel text"
    spec_rows = ("T22",)
    lead = "The same migration with fewer sentence pairs; subsets are nested."
    notes = (
        "Vocabulary and word alignment are those of all pairs in every row, so that bits per word "
        "are comparable; the aligner has thus seen more than the smaller rows' models.",
    )
    axis = "sentence pairs"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--sizes", metavar="N,N", required=True, help="numbers of sentence pairs"
        )

    def rows(self, config: Any, args: argparse.Namespace) -> list[Row]:
        try:
            sizes = [int(text) for text in args.sizes.split(",")]
        except ValueError:
            raise UserError(f"`--sizes` must be whole numbers, got {args.sizes!r}") from None
        if min(sizes) < 1 or len(set(sizes)) < len(sizes):
            raise UserError(f"`--sizes` must be different and at least 1, got {args.sizes!r}")
        return [
            Row(f"pairs-{size}", f"{size:,} pairs", {"parallel_limit": size})
            for size in sorted(sizes, reverse=True)
        ]

    def size(self, row: Row) -> float | None:
        return row.changes["parallel_limit"]
