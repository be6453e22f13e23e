"""Distances of two sequences of vectors in one space, by name.

CLCR, section 2.1, requires f(s1) and f(s2) to be close for sentences with the same meaning, and
leaves open how sequences are compared. Two distances are available:

    matched    D of equation 2 without a transform, the mean of both directions: every vector
               against its match by attention on the other side, regardless of position. Attention
               compares by distance here: by dot products a long vector would be the partner of all,
               and a sequence not even close to itself
    positions  position by position, as a model reads them: (1 / n) sum_{i<=n} || x_i - y_i ||, n
               the positions that both have. Excess vectors are ignored: compared with zero they
               would be closer than wrong vectors, and pairs of different lengths the closest.

Symbols: ``P`` pairs, ``B`` of a batch, ``K`` and ``M`` vectors of the longest x and y, ``D`` width.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.clcr.pivots import distances_between
from fairseq_xling.clcr.sequences import Sequences
from fairseq_xling.models.clcr.matching import attention, mean_of, norms
from fairseq_xling.registry import Registry

# (x (B, K, D), content (B, K), y (B, M, D), content (B, M)) to (B,); True at content.
Distance = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
# By name a maker ``(norm, tau)``.
distances: Registry[Callable[[str, float], Distance]] = Registry("`--distance`")


@distances.register("matched")
def matched(norm: str, tau: float) -> Distance:
    """See the module's docstring; ``tau`` is attention's temperature, 0 selects the nearest vector.

    >>> x = torch.tensor([[[3.0, 0.0], [0.0, 3.0]]])
    >>> all_there = torch.ones(1, 2, dtype=torch.bool)
    >>> matched("l2", 0.0)(x, all_there, x.flip(1), all_there).tolist()  # another order
    [0.0]
    """

    def one_way(far: Tensor, x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor) -> Tensor:
        mixed = attention(-far, x_mask, tau).to(x.dtype) @ x
        return mean_of(norms[norm](mixed - y), y_mask)

    def distance(x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor) -> Tensor:
        far = distances_between(y, x, norm)
        there = one_way(far, x, x_mask, y, y_mask)
        return (there + one_way(far.transpose(1, 2), y, y_mask, x, x_mask)) / 2

    return distance


@distances.register("positions")
def positions(norm: str, tau: float) -> Distance:
    """See the module's docstring; ``tau`` is ignored.

    >>> x = torch.tensor([[[3.0, 0.0], [0.0, 4.0]]])
    >>> mask = torch.tensor([[True, False]])
    >>> both = torch.ones(1, 2, dtype=torch.bool)
    >>> positions("l2", 0.0)(x, both, x, mask).tolist()  # the second is ignored
    [0.0]
    """

    def distance(x: Tensor, x_mask: Tensor, y: Tensor, y_mask: Tensor) -> Tensor:
        size = min(x.shape[1], y.shape[1])
        both = x_mask[:, :size] & y_mask[:, :size]
        far = norms[norm](x[:, :size] - y[:, :size]).masked_fill(~both, 0.0)
        return far.sum(1) / both.sum(1).clamp(min=1)

    return distance


@torch.no_grad()
def sequence_distances(
    x: Sequences, y: Sequences, pairs: np.ndarray, distance: Distance, batch_size: int = 256
) -> np.ndarray:
    """The distance of sentence ``pairs[p, 0]`` of x and ``pairs[p, 1]`` of y: (P,) float64.

    NaN if a sentence has no key-point.

    Args:
        batch_size: pairs at a time, of similar length.
    """
    kept_x, kept_y = x.counts[pairs[:, 0]], y.counts[pairs[:, 1]]
    found = np.full(len(pairs), np.nan)
    usable = np.flatnonzero((kept_x > 0) & (kept_y > 0))
    usable = usable[np.argsort((kept_x + kept_y)[usable], kind="stable")]
    for start in range(0, len(usable), batch_size):
        chosen = usable[start : start + batch_size]
        (a, a_padding), (b, b_padding) = x.batch(pairs[chosen, 0]), y.batch(pairs[chosen, 1])
        found[chosen] = distance(a, ~a_padding, b, ~b_padding).double().numpy()
    return found


def random_partners(sentences: int, rounds: int, generator: np.random.Generator) -> np.ndarray:
    """Pairs (rounds * sentences, 2) of each sentence with another one, never its own translation.

    >>> pairs = random_partners(5, 2, np.random.default_rng(1))
    >>> pairs.shape, bool((pairs[:, 0] == pairs[:, 1]).any())
    ((10, 2), False)
    """
    found = []
    for _ in range(rounds):
        order = generator.permutation(sentences)
        found.append(np.stack([order, np.roll(order, 1)], axis=1))
    return np.concatenate(found)
