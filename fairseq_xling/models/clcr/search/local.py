"""Local search for a linear order: start with a sorted one, move one key-point at a time.

The search of `fairseq_xling.models.ranking`, which the generator's ``predicted`` uses.
"""

import torch
from torch import Tensor

from fairseq_xling.models.clcr.search import UNIT, relative_searches
from fairseq_xling.models.ranking import rank_by_preference


@relative_searches.register("local")
def arrange_locally(costs: Tensor, lengths: Tensor, width: int) -> Tensor:
    """Ranks (B, K) from costs (B, K, K) of key-point i before j; ``width`` is not read."""
    gain = (costs.transpose(1, 2) - costs).double() * UNIT
    place = torch.arange(costs.shape[1], device=costs.device)
    padding = place >= lengths[:, None]
    # Padding always comes last: no sum of other costs is as large.
    after = padding.long()[:, None] - padding.long()[:, :, None]
    firm = 1.0 + 2.0 * gain.abs().sum((1, 2))
    return rank_by_preference(torch.where(after == 0, gain, after * firm[:, None, None]))
