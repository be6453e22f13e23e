"""Absolute order: a class per position for each key-point (CLCR, section 3.3).

The classifier predicts p(position | key-point); an order is a choice of distinct positions, and its
cost is the sum over its choices of

    likelihood    -log p: the likeliest order of independent key-points
    probability   1 - p: the expected number of key-points at a wrong position

The paper uses "probability as cost", which can be read either way. A sentence of n key-points has
the positions 0 to n - 1, and all others are excluded before the softmax.

B sentences, K key-points (padded at the end), D width, N positions of the table.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name
from fairseq_xling.models.ordering import (
    LAYERS,
    OrderHead,
    OrderMap,
    Reader,
    lengths_of,
    order_heads,
)
from fairseq_xling.models.ordering.search import Found, absolute_searches, assign

POSITIONS = 512
WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {  # by name, costs from -log p
    "probability": lambda surprise: -torch.expm1(-surprise),
    "likelihood": lambda surprise: surprise,
}


@order_heads.register("abs")
class AbsoluteOrder(OrderHead):
    """Scores (B, K, N): logits that key-point i is at position p, -inf where p >= n.

    Args:
        dim: D.
        positions: N. A table as long as the encoder's own positions accepts every sentence, since
            a key-point is at least a token.
        layers: self-attention over the key-points before the classifier.
        dropout: inside them.
    """

    searches = absolute_searches
    weights = tuple(WEIGHTS)

    def __init__(
        self, dim: int, positions: int = POSITIONS, *, layers: int = LAYERS, dropout: float = 0.1
    ):
        super().__init__()
        self.reader = Reader(dim, layers, dropout)
        self.output = nn.Linear(self.reader.width, positions)

    def forward(self, states: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """As the base class."""
        lengths = lengths_of(states, padding_mask)
        known = self.output.out_features
        if states.shape[1] > known and (longest := int(lengths.max())) > known:
            raise UserError(
                f"`--order-positions` of `--order abs` must be at least the key-points of a "
                f"sentence, got {known} and a sentence with {longest}; train with more, or with "
                "`--order rel`, which needs none"
            )
        logits = self.output(self.reader(states, padding_mask)).float()
        position = torch.arange(known, device=states.device)
        # Rows of padding are never read, but keep a class, to avoid NaN.
        missing = position >= lengths.clamp(min=1)[:, None]
        return logits.masked_fill(missing[:, None], -torch.inf)

    def loss(
        self, scores: Tensor, positions: Tensor, padding_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the gold position, per key-point.

        Raises:
            UserError: for a position that the sentence does not have.
        """
        used = _used(scores, positions, padding_mask)
        where = used.nonzero(as_tuple=True)  # once: a GPU is waited for
        logits, gold = scores[where], positions[where]
        if not len(gold):
            # No -inf here: its product with 0 would be NaN.
            return scores.clamp(min=-1.0).sum() * 0.0, used.sum()
        loss = F.cross_entropy(logits, gold, reduction="sum")
        return loss, used.sum()

    def correct(
        self, scores: Tensor, positions: Tensor, padding_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Key-points whose most probable position is the gold one."""
        used = _used(scores, positions, padding_mask)
        return ((scores.argmax(-1) == positions) & used).sum(), used.sum()

    def maps(self, scores: Tensor, positions: Tensor) -> list[OrderMap]:
        """One-hot gold positions, and p(position)."""
        count = positions.shape[1]
        gold = F.one_hot(positions, count).float()
        own = scores[..., :count].softmax(-1)
        return [
            OrderMap("gold position", "gold (1: its position)", gold, pairs=False),
            OrderMap("p(position)", "p(position)", own, pairs=False),
        ]

    def find(
        self,
        scores: Tensor,
        padding_mask: Tensor | None = None,
        *,
        search: str = "beam",
        width: int = 10,
        weigh: str = "",
    ) -> Found:
        """As the base class; ``cost`` is the sum of the costs of the chosen positions.

        Args:
            weigh: the cost of a position, of `WEIGHTS` (default: ``likelihood``).
        """
        if weigh and weigh not in WEIGHTS:
            raise unknown_name("weight of positions", weigh, list(WEIGHTS))
        costs = WEIGHTS[weigh or "likelihood"](-scores.float().log_softmax(-1))
        return assign(costs, lengths_of(scores, padding_mask), search=search, width=width)


def _used(scores: Tensor, positions: Tensor, padding_mask: Tensor | None) -> Tensor:
    """Key-points with a gold position: (B, K) bool."""
    used = positions >= 0
    if padding_mask is not None:
        used = used & ~padding_mask
    lengths = lengths_of(scores, padding_mask)
    outside = used & (positions >= lengths[:, None])
    # On a GPU, which would be waited for, such a position has an infinite loss.
    if outside.device.type == "cpu" and bool(outside.any()):
        row, item = outside.nonzero()[0].tolist()
        raise UserError(
            f"`positions` of a sentence with {int(lengths[row])} key-points must lie below that, "
            f"got {int(positions[row, item])}"
        )
    return used
