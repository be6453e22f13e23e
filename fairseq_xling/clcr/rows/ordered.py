"""T+E+R: key-points of one language in the other's order (CLCR, section 3.3)."""

from typing import Any

import torch

from fairseq_xling.clcr.rows import Chosen, RowOptions, View, reordered, rows
from fairseq_xling.clcr.rows.extracted import ExtractedRow
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.order import head_key, order_heads, reordered_side
from fairseq_xling.models.clcr.search.beam import MOST_WIDTH
from fairseq_xling.registry import unknown_name


@rows.register("T+E+R")
class OrderedRow(ExtractedRow):
    """Key-points of the language `--reorder` in the order of the other, which is not changed."""

    needs = ("extract", "order")
    reads = ("delta", "order", "search", "beam", "weigh", "reorder")

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        self.head = None
        order_heads.check(options.order)
        if side == reordered_side(options.reorder):
            key = head_key(options.order, options.reorder)
            self.head = model.model.require(key, model.checkpoint).head
            if options.search not in self.head.searches:
                raise unknown_name("`--search`", options.search, [*self.head.searches])
            if options.weigh and options.weigh not in self.head.weights:
                raise unknown_name("`--weigh`", options.weigh, self.head.weights)
        if not 1 <= options.beam <= MOST_WIDTH:
            raise UserError(f"`--beam` must lie in [1, {MOST_WIDTH}], got {options.beam}")

    def __call__(self, view: View) -> Chosen:
        chosen = super().__call__(view)
        several = (~chosen.padding).sum(1) > 1
        if self.head is None or not bool(several.any()):
            return chosen
        states, padding = chosen.of(view.vectors), chosen.padding[several]
        scores = self.head(states[several], padding)
        how = self.options
        found = self.head.find(scores, padding, search=how.search, width=how.beam, weigh=how.weigh)
        ranks = torch.arange(chosen.places.shape[1], device=scores.device).repeat(len(states), 1)
        ranks[several] = found.ranks.to(ranks)
        return reordered(chosen, ranks)
