"""Cross-domain similarity local scaling: nearest neighbours without hubs.

Conneau et al. 2018, "Word Translation Without Parallel Data", section 2.3:

    CSLS(x, y) = 2 cos(x, y) - r_T(x) - r_S(y)

``r_T(x)`` is the mean cosine of ``x`` to its K nearest targets, ``r_S(y)`` that of ``y`` to its K
nearest sources: a hub, close to everything, is pushed away from everything.

One pass over the cosines (`mapping.largest`) finds the nearest on both sides, and so both ``r``.
The best target by CSLS is then usually known already: one that is not among the nearest of ``x``
has no larger cosine than the last of these, so only targets whose ``r_S`` is low enough to make up
for that are examined again. The result is exact, the same as with all cosines.

Symbols: ``N`` sources, ``M`` targets, ``D`` width. Only blocks of cosines exist at a time.
"""

import torch
from torch import Tensor

from fairseq_xling.mapping.largest import Block, Largest, largest_of_both, largest_of_rows
from fairseq_xling.mapping.normalize import unit

_CHUNK = 3072  # rows and columns of a block of cosines: 36 MB
_ROUNDING = 1e-5  # a cosine differs by less from block to block


@torch.no_grad()
def local_density(x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK) -> Tensor:
    """Mean cosine of every row of ``x`` to its ``k`` nearest rows of ``y``; fewer if y has fewer.

    Args:
        x: (N, D); y: (M, D).

    Returns:
        (N,), ``r_T(x)``.

    Raises:
        ValueError: if ``k`` is below 1, a side has no rows, or a value is not finite.

    >>> local_density(torch.eye(2), torch.eye(2), k=2).tolist()
    [0.5, 0.5]
    """
    _check(x, y, k)
    return largest_of_rows(unit(x), unit(y), k, chunk).values.mean(1)


@torch.no_grad()
def local_densities(
    x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK
) -> tuple[Tensor, Tensor]:
    """``r_T(x)`` (N,) and ``r_S(y)`` (M,) in one pass; errors as `local_density`.

    >>> r_t, r_s = local_densities(torch.eye(2), torch.eye(2)[:1], k=1)
    >>> r_t.tolist(), r_s.tolist()
    ([1.0, 0.0], [1.0])
    """
    _check(x, y, k)
    near_x, near_y = largest_of_both(unit(x), unit(y), k, k, chunk)
    return near_x.values.mean(1), near_y.values.mean(1)


@torch.no_grad()
def csls_neighbours(
    x: Tensor, y: Tensor, top: int = 1, k: int = 10, chunk: int = _CHUNK
) -> tuple[Tensor, Tensor]:
    """The ``top`` best rows of ``y`` by CSLS for every row of ``x``, best first.

    Args:
        x: (N, D) sources; y: (M, D) targets.
        top: number of neighbours, at most M are returned.
        k: neighbourhood of the scaling.
        chunk: at most ``chunk * chunk`` cosines exist at a time.

    Returns:
        CSLS scores (N, top) and indices into ``y`` (N, top).

    Raises:
        ValueError: as `local_density`.

    >>> csls_neighbours(torch.eye(3), torch.eye(3)[[1, 0, 2]], k=1)[1].flatten().tolist()
    [1, 0, 2]
    """
    _check(x, y, k)
    x, y = unit(x), unit(y)
    near_x, near_y = largest_of_both(x, y, max(k, top), k, chunk)
    r_t, r_s = near_x.values[:, :k].mean(1), near_y.values.mean(1)
    best = _search(x, y, r_s, near_x, top, chunk)
    return best.values - r_t[:, None], best.index


@torch.no_grad()
def mutual_neighbours(x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK) -> Tensor:
    """Pairs (P, 2) of rows (of ``x``, of ``y``) that are each other's best by CSLS.

    Sorted by row of ``x``; every row is in at most one pair. Errors as `local_density`.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> mutual_neighbours(x, torch.eye(2), k=1).tolist()
    [[0, 0], [1, 1]]
    """
    _check(x, y, k)
    x, y = unit(x), unit(y)
    near_x, near_y = largest_of_both(x, y, k, k, chunk)
    r_t, r_s = near_x.values.mean(1), near_y.values.mean(1)
    forward = _search(x, y, r_s, near_x, 1, chunk).index[:, 0]
    backward = _search(y, x, r_t, near_y, 1, chunk).index[:, 0]
    rows = torch.arange(len(x), device=x.device)
    mutual = backward[forward] == rows
    return torch.stack([rows[mutual], forward[mutual]], dim=1)


@torch.no_grad()
def csls_criterion(x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK) -> float:
    """Mean cosine of the rows of ``x`` to their best rows of ``y`` by CSLS (section 2.4).

    An unsupervised measure of a map's quality: in the paper it correlates with the accuracy of word
    translation. ``x`` and ``y`` are the most frequent words of both languages. Errors as
    `local_density`.

    >>> csls_criterion(torch.eye(3), torch.eye(3), k=1)
    1.0
    """
    nearest = csls_neighbours(x, y, 1, k, chunk)[1][:, 0]
    return float((unit(x) * unit(y)[nearest]).sum(1).mean())


def _check(x: Tensor, y: Tensor, k: int) -> None:
    if k < 1:
        raise ValueError(f"`k` must be at least 1, got {k}")
    if not (len(x) and len(y)):
        raise ValueError(f"neighbours need a vector on both sides, got {len(x)} and {len(y)}")
    if not all(torch.isfinite(part).all() for side in (x, y) for part in side.split(_CHUNK)):
        raise ValueError("vectors to compare must be finite, got NaN or infinity")


def _search(x: Tensor, y: Tensor, penalty: Tensor, near: Largest, top: int, chunk: int) -> Largest:
    """The ``top`` largest of ``2 cos(x, y) - penalty(y)`` in each row of ``x``.

    Args:
        x: (N, D); y: (M, D), rows of unit length.
        penalty: (M,).
        near: the nearest of each row of ``x`` by cosine, at least ``top`` of them.
    """
    values, place = (2 * near.values - penalty[near.index]).topk(min(top, len(y)))
    best = Largest(values, near.index.gather(1, place))
    if near.values.shape[1] == len(y):
        return best
    # A target that is not near can only be better with a penalty below this. Targets with low
    # penalties come first, and so do rows that must examine most of them.
    limit = 2 * near.mark() - best.mark() + _ROUNDING
    order = penalty.argsort()
    count = torch.searchsorted(penalty[order], limit)
    rows = count.argsort(descending=True)[: int((count > 0).sum())]
    place = torch.empty_like(order)
    place[order] = torch.arange(len(y), device=y.device)
    block = Block(min(chunk, max(len(x), len(y))), x)
    for part in rows.split(chunk) if len(rows) else ():
        found = Largest(best.values[part], best.index[part])
        known = place[near.index[part]]
        doubled = torch.cat([2 * x[part], x.new_ones(len(part), 1)], 1)
        for start in range(0, int(count[part[0]]), chunk):
            columns = order[start : min(start + chunk, int(count[part[0]]))]
            # An additional coordinate subtracts the penalty within the product.
            penalized = torch.cat([y[columns], -penalty[columns, None]], 1)
            scores = block.product(doubled, penalized)
            inside = (known >= start) & (known < start + len(columns))
            line, slot = inside.nonzero(as_tuple=True)
            scores[line, known[line, slot] - start] = -torch.inf  # already among `found`, or worse
            found.offer(scores, columns)
        best.values[part], best.index[part] = found.values, found.index
    return best
