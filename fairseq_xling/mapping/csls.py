"""Cross-domain similarity local scaling: nearest neighbours without hubs.

Conneau et al. 2018, "Word Translation Without Parallel Data", section 2.3:

    CSLS(x, y) = 2 cos(x, y) - r_T(x) - r_S(y)

``r_T(x)`` is the mean cosine of ``x`` to its K nearest targets, ``r_S(y)`` that of ``y`` to its K
nearest sources: a hub, near to everything, is pushed away from everything.

Symbols: ``N`` sources, ``M`` targets, ``D`` width. Only blocks of cosines exist at a time.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from fairseq_xling.mapping.normalize import unit

_CHUNK = 2048  # rows and columns of a block of cosines: 16 MB


def local_density(x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK) -> Tensor:
    """Mean cosine of every row of ``x`` to its ``k`` nearest rows of ``y``; fewer if y has fewer.

    Args:
        x: (N, D); y: (M, D).

    Returns:
        (N,), ``r_T(x)``.

    >>> local_density(torch.eye(2), torch.eye(2), k=2).tolist()
    [0.5, 0.5]
    """
    _check(x, y, k)
    return _top(unit(x), unit(y), None, k, chunk)[0].mean(1)


def csls_neighbours(
    x: Tensor, y: Tensor, top: int = 1, k: int = 10, chunk: int = _CHUNK
) -> tuple[Tensor, Tensor]:
    """The ``top`` best rows of ``y`` by CSLS for every row of ``x``, best first.

    Args:
        x: (N, D) sources; y: (M, D) targets.
        top: neighbours wanted, at most M are given.
        k: neighbourhood of the scaling.
        chunk: at most ``chunk * chunk`` cosines exist at a time.

    Returns:
        CSLS scores (N, top) and indices into ``y`` (N, top).

    >>> csls_neighbours(torch.eye(3), torch.eye(3)[[1, 0, 2]], k=1)[1].flatten().tolist()
    [1, 0, 2]
    """
    _check(x, y, k)
    x, y = unit(x), unit(y)
    r_t = _top(x, y, None, k, chunk)[0].mean(1)
    r_s = _top(y, x, None, k, chunk)[0].mean(1)
    scores, index = _top(x, y, r_s, top, chunk)
    return scores - r_t[:, None], index


def mutual_neighbours(x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK) -> Tensor:
    """Pairs (P, 2) of rows (of ``x``, of ``y``) that are each other's best by CSLS.

    Sorted by row of ``x``; every row stands in one pair at most.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> mutual_neighbours(x, torch.eye(2), k=1).tolist()
    [[0, 0], [1, 1]]
    """
    _check(x, y, k)
    x, y = unit(x), unit(y)
    r_t = _top(x, y, None, k, chunk)[0].mean(1)
    r_s = _top(y, x, None, k, chunk)[0].mean(1)
    forward = _top(x, y, r_s, 1, chunk)[1][:, 0]
    backward = _top(y, x, r_t, 1, chunk)[1][:, 0]
    rows = torch.arange(len(x), device=x.device)
    mutual = backward[forward] == rows
    return torch.stack([rows[mutual], forward[mutual]], dim=1)


def csls_criterion(x: Tensor, y: Tensor, k: int = 10, chunk: int = _CHUNK) -> float:
    """Mean cosine of the rows of ``x`` to their best rows of ``y`` by CSLS (section 2.4).

    How good a map is, without a dictionary: in the paper it goes along with the accuracy of word
    translation. ``x`` and ``y`` are the most frequent words of both languages.

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


def _top(x: Tensor, y: Tensor, penalty: Tensor | None, k: int, chunk: int) -> tuple[Tensor, Tensor]:
    """The ``k`` largest of ``cos(x, y)``, or ``2 cos(x, y) - penalty(y)``, in each row of ``x``.

    Rows of both have unit length.
    """
    k = min(k, len(y))
    best = [_top_of(rows, y, penalty, k, chunk) for rows in x.split(chunk)]
    return torch.cat([scores for scores, _ in best]), torch.cat([index for _, index in best])


def _top_of(
    rows: Tensor, y: Tensor, penalty: Tensor | None, k: int, chunk: int
) -> tuple[Tensor, Tensor]:
    scores = rows.new_empty(len(rows), 0)
    index = torch.empty(len(rows), 0, dtype=torch.int64, device=rows.device)
    for start, block in _blocks(y, chunk):
        found = rows @ block.T
        if penalty is not None:
            found = 2 * found - penalty[start : start + len(block)]
        values, places = _largest(found, k)
        scores = torch.cat([scores, values], dim=1)
        index = torch.cat([index, places + start], dim=1)
        if start:
            scores, keep = _largest(scores, k)
            index = index.gather(1, keep)
    return scores, index


def _largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    if k == 1:  # twice as fast as topk
        return scores.max(dim=1, keepdim=True)
    return scores.topk(min(k, scores.shape[1]), dim=1)


def _blocks(y: Tensor, chunk: int) -> Iterator[tuple[int, Tensor]]:
    for start in range(0, len(y), chunk):
        yield start, y[start : start + chunk]
