"""Which words of two sentences translate each other, by the similarity of their vectors in context.

Jalili Sabet et al., 2020, "SimAlign", Section 3: no text is needed to learn from. ``similarity``
is (I, J), of I words and J, and 0 where there can be no link.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import normalize

from fairseq_xling.core.registry import Registry

# (I, J) similarities to (I, J) bool.
WORD_LINKS: Registry[Callable[[Tensor], Tensor]] = Registry("`method`")
_ROUNDS = 2
_DISCOUNT = 0.9  # of a pair of which one word has a link


def similarities(x: Tensor, y: Tensor) -> Tensor:
    """Cosines of rows (I, D) and (J, D), moved to [0, 1]; 0 where a row is zero."""
    there = x.any(1)[:, None] & y.any(1)[None]
    return ((normalize(x) @ normalize(y).T + 1) / 2).masked_fill(~there, 0)


@WORD_LINKS.register("argmax")
def mutual(similarity: Tensor) -> Tensor:
    """Each is the other's most similar word.

    >>> mutual(torch.tensor([[0.9, 0.1], [0.8, 0.2]])).tolist()
    [[True, False], [False, False]]
    """
    return forward(similarity) & forward(similarity.T).T


def forward(similarity: Tensor) -> Tensor:
    """For each row its most similar column, the first of equal ones."""
    chosen = torch.zeros_like(similarity, dtype=torch.bool)
    if similarity.numel():
        chosen[torch.arange(len(similarity)), similarity.argmax(1)] = True
    return chosen & (similarity > 0)


@WORD_LINKS.register("itermax")
def itermax(similarity: Tensor) -> Tensor:
    """As ``argmax``, and again for words that have no link yet, so that one may have several.

    Pairs of two words with a link are left out, and those of which one has a link count less.

    >>> itermax(torch.tensor([[0.9, 0.1], [0.8, 0.2]])).tolist()
    [[True, False], [True, False]]
    """
    links = mutual(similarity)
    for _ in range(_ROUNDS - 1):
        rows, columns = links.any(1)[:, None], links.any(0)[None]
        weight = 1 - (1 - _DISCOUNT) * (rows | columns).float()
        left = (similarity * weight).masked_fill(rows & columns, 0)
        links = links | mutual(left)
    return links
