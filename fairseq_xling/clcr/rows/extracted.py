"""T+E: key-points, in text order (CLCR, section 3.2)."""

from typing import Any

from fairseq_xling.clcr.rows import Chosen, RowMethod, RowOptions, View, in_text_order, rows
from fairseq_xling.errors import UserError


@rows.register("T+E")
class ExtractedRow(RowMethod):
    """Tokens with p(key-point) > delta; each represents its block."""

    needs = ("extract",)
    reads = ("delta",)

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        module = model.model.require("extract", model.checkpoint)
        self.module, self.extractor = module, module.sides[side]
        self.delta = module.delta if options.delta is None else options.delta
        if not 0 <= self.delta <= 1:
            raise UserError(f"`--delta` must lie in [0, 1], got {self.delta}")

    def __call__(self, view: View) -> Chosen:
        read = self.module.read(self.side, view.vectors, view.source)
        kept = self.extractor.probability(read) > self.delta
        return in_text_order(kept & view.content)
