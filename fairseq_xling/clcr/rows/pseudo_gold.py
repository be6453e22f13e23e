"""T+pGA: pseudo-gold pivots in pseudo-gold order, found using the translation."""

from typing import Any

import torch

from fairseq_xling.clcr.pivots import mutual_best, pair_distances
from fairseq_xling.clcr.rows import (
    Chosen,
    RowMethod,
    RowOptions,
    View,
    in_text_order,
    reordered,
    rows,
)
from fairseq_xling.errors import UserError
from fairseq_xling.models.clcr.order import reordered_side


@rows.register("T+pGA")
class PseudoGoldRow(RowMethod):
    """Both languages have the same number of vectors, in matching order."""

    reads_translation = True
    reads = ("threshold", "reorder")

    def __init__(self, model: Any, side: int, options: RowOptions):
        super().__init__(model, side, options)
        self.moves = side == reordered_side(options.reorder)
        if options.threshold is None or not options.threshold > 0:
            raise UserError(
                "`--threshold` of the pivots must be above 0 for row T+pGA (`clcr label` prints "
                f"one), got {options.threshold}"
            )

    def __call__(self, view: View) -> Chosen:
        states, masks = (view.states, view.other_states), (view.content, view.other_content)
        if self.side:
            states, masks = states[::-1], masks[::-1]
        moved = self.model.transform(0, states[0]), self.model.transform(1, states[1])
        found = mutual_best(pair_distances(*states, *moved, self.model.norm), *masks)
        kept = found.distance < self.options.threshold
        mine, theirs = (found.target, found.source) if self.side else (found.source, found.target)
        partner = torch.full_like(view.content, -1, dtype=torch.int64)
        partner[found.row[kept], mine[kept]] = theirs[kept]
        chosen = in_text_order(partner >= 0)
        if not self.moves:
            return chosen  # both languages use this order
        places = partner.gather(1, chosen.places)
        last = torch.iinfo(torch.int64).max
        ranks = places.masked_fill(chosen.padding, last).argsort(1).argsort(1)
        return reordered(chosen, ranks)
