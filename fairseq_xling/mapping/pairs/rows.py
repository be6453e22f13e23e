"""Row n matches row n: sentences of a parallel text, or one text in two encoders."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fairseq_xling.analysis.extracted import check_same_rows
from fairseq_xling.core.options import NoOptions
from fairseq_xling.mapping.pairs import PAIRS, text_keys
from fairseq_xling.mapping.states import BLOCK, Selection, States


@PAIRS.register("rows")
class Rows:
    """See the module's docstring.

    Raises:
        UserError: if numbers of rows, or their units, differ.
    """

    reads = False
    options = NoOptions

    def __init__(self, moving: States, fixed: States, file: Path | None, options: NoOptions):
        check_same_rows(moving, fixed)
        self.count, self.facts = moving.rows, {}
        self.keys = text_keys(moving, fixed)

    def __iter__(self) -> Iterator[tuple[Selection, Selection]]:
        for start in range(0, self.count, BLOCK):
            block = Selection(np.arange(start, min(start + BLOCK, self.count)))
            yield block, block
