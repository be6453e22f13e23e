"""Row n matches row n: sentences of a parallel text, or one text in two encoders."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.analysis.extracted import check_same_rows
from fairseq_xling.mapping.pairs import PAIRS
from fairseq_xling.mapping.states import BLOCK, Selection, States


@PAIRS.register("rows")
class Rows:
    """See the module's docstring.

    Raises:
        UserError: if numbers of rows, or their units, differ.
    """

    reads = False

    def __init__(self, moving: States, fixed: States, file: Path | None, args: argparse.Namespace):
        check_same_rows(moving, fixed)
        self.count, self.facts = moving.rows, {}

    @staticmethod
    def add_arguments(parser: Any) -> None:
        """It has none."""

    def __iter__(self) -> Iterator[tuple[Selection, Selection]]:
        for start in range(0, self.count, BLOCK):
            block = Selection(np.arange(start, min(start + BLOCK, self.count)))
            yield block, block
