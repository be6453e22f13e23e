"""Some of the source's tokens, ordered by which of each two comes first (CLCR, section 3.3)."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from fairseq_xling.generation.orderings import orderings
from fairseq_xling.generation.orderings.predicted import Predicted
from fairseq_xling.models.auxiliary.order import Proposal


@orderings.register("relative")
class Relative(Predicted):
    """As `Predicted`, for a model trained with `--auxiliary relative`, by a beam of `--order-beam`.

    No source token is used twice, and every target token comes from one.
    """

    name = "relative"
    head = "relative"

    def __init__(self, cfg: Any, models: Sequence[Any]):
        super().__init__(cfg, models)

    def propose(
        self, middle: Tensor, src_padding: Tensor | None, langs: Tensor, shifts: Sequence[int]
    ) -> list[Proposal]:
        head = self.models[0].auxiliary[self.head]
        return head.propose(middle, src_padding, langs, shifts, self.cfg.order_beam)
