"""Relative order: for each two key-points, which comes first (CLCR, section 3.3).

The paper's classifier learns P(i, j) = sgn(R(i) - R(j)) with R the gold position. Ours scores a
pair by s_ij = q_i k_j - q_j k_i + b(j - i), the log-odds that i comes before j: antisymmetric, so
(i, j) and (j, i) are consistent. b is the language pair's tendency by the distance of the
key-points in their own sentence. Orders of any length can be scored.

Putting i before j costs, as `disagreement` computes it,

    sign          1 if s_ij < 0, else 0: the paper's sum of disagreements with sgn(R(i) - R(j))
    probability   P(j before i) = 1 / (1 + e^s_ij): the expected number of wrong pairs
    likelihood    -log P(i before j) = log(1 + e^-s_ij): the likeliest order of independent pairs

`sign` counts an uncertain pair like a certain one, and has many ties; the other two do not. If all
pairs are equally certain, the three are equivalent. With 10 key-points and a tenth of the pairs on
the wrong side, by Gaussian noise, `sign` keeps 62 % of the bigrams and `likelihood` 71 %.

B sentences, K key-points (padded at the end), D width.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.registry import unknown_name
from fairseq_xling.models.layer import scaled_products
from fairseq_xling.models.ordering import (
    LAYERS,
    OrderHead,
    OrderMap,
    Reader,
    lengths_of,
    order_heads,
)
from fairseq_xling.models.ordering.search import Found, arrange, relative_searches

WEIGHTS: dict[str, Callable[[Tensor], Tensor]] = {
    "sign": lambda scores: (scores < 0).float(),
    "probability": lambda scores: (-scores).sigmoid(),
    "likelihood": lambda scores: F.softplus(-scores),
}


def disagreement(scores: Tensor, weigh: str = "likelihood") -> Tensor:
    """Costs (B, K, K) of i before j from log-odds (B, K, K) that i comes before j.

    >>> import torch
    >>> disagreement(torch.tensor([[[0.0, 2.0], [-2.0, 0.0]]]), "sign").tolist()
    [[[0.0, 0.0], [1.0, 0.0]]]
    """
    if weigh not in WEIGHTS:
        raise unknown_name("weight of disagreements", weigh, list(WEIGHTS))
    return WEIGHTS[weigh](scores.float())


DISTANCES = 32


@order_heads.register("rel")
class RelativeOrder(OrderHead):
    """Scores (B, K, K): log-odds that key-point i comes before j; 0 for i = j and at padding.

    Args:
        dim: D.
        layers: self-attention over the key-points before the classifier.
        dropout: inside them.
    """

    searches = relative_searches
    weights = tuple(WEIGHTS)

    def __init__(self, dim: int, *, layers: int = LAYERS, dropout: float = 0.1):
        super().__init__()
        self.reader = Reader(dim, layers, dropout)
        self.query = nn.Linear(self.reader.width, self.reader.width)
        self.key = nn.Linear(self.reader.width, self.reader.width)
        self.habit = nn.Parameter(torch.zeros(DISTANCES))  # of distance 1, 2, ..., and all beyond

    def forward(self, states: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """As the base class."""
        x = self.reader(states, padding_mask)
        products = scaled_products(self.query(x), self.key(x))
        number = torch.arange(x.shape[1], device=x.device)
        ahead = number - number[:, None]
        habit = self.habit[ahead.abs().clamp(1, DISTANCES) - 1].float() * ahead.sign()
        scores = products - products.transpose(1, 2) + habit
        if padding_mask is None:
            return scores
        return scores.masked_fill(padding_mask[:, :, None] | padding_mask[:, None], 0.0)

    def loss(
        self, scores: Tensor, positions: Tensor, padding_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Binary cross-entropy, averaged over a key-point's partners, per key-point with any.

        So a key-point has the same weight in a short and in a long sentence. Equal positions are
        not a pair.
        """
        pairs, sign = _pairs(positions, padding_mask)
        loss = F.softplus(-sign * scores).masked_fill(~pairs, 0.0)
        partners = pairs.sum(2)
        return (loss.sum(2) / partners.clamp(min=1)).sum(), (partners > 0).sum()

    def correct(
        self, scores: Tensor, positions: Tensor, padding_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Pairs (each counted once) on the right side of 0."""
        pairs, sign = _pairs(positions, padding_mask)
        pairs = pairs.triu(1)
        return ((sign * scores > 0) & pairs).sum(), pairs.sum()

    def maps(self, scores: Tensor, positions: Tensor) -> list[OrderMap]:
        """The gold sign of each pair, 1 if the row comes before the column, and p of that."""
        _, sign = _pairs(positions, None)
        return [
            OrderMap("gold order", "+1: row before column", sign.float(), True, (-1.0, 1.0)),
            OrderMap("p(row before column)", "p(row before column)", scores.sigmoid(), True),
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
        """As the base class; ``cost`` is the sum of disagreements.

        Args:
            weigh: the cost of a disagreement, see `disagreement` (default: ``likelihood``, -log p
                as in absolute order).
        """
        lengths = lengths_of(scores, padding_mask)
        costs = disagreement(scores, weigh or "likelihood")
        return arrange(costs, lengths, search=search, width=width)


def _pairs(positions: Tensor, padding_mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Which pairs have a gold order, and +1 where i comes before j, -1 where after: (B, K, K)."""
    used = positions >= 0
    if padding_mask is not None:
        used = used & ~padding_mask
    sign = (positions[:, None] - positions[:, :, None]).sign()
    return used[:, :, None] & used[:, None] & (sign != 0), sign
