"""Combine the alignments of both directions (Och & Ney 2003; Koehn et al. 2003)."""

from collections.abc import Callable

import numpy as np

from fairseq_xling.registry import Registry
from fairseq_xling.text.links import Links

Rule = Callable[[Links, Links], tuple[Links, Links]]

# A rule maps (forward, reverse) to the links that each of the two directions uses. Forward links
# have at most one source item per target item, reverse links one target item per source item.
symmetrizations: Registry[Rule] = Registry("symmetrisation")

_NEIGHBOURS = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]


@symmetrizations.register("none")
def directional(forward: Links, reverse: Links) -> tuple[Links, Links]:
    """Each direction keeps its own links."""
    return forward, reverse


@symmetrizations.register("intersection")
def intersection(forward: Links, reverse: Links) -> tuple[Links, Links]:
    """Links that both directions have."""
    extent = _extent(forward, reverse)
    both = np.intersect1d(_keys(forward, *extent), _keys(reverse, *extent))
    return _both(both, forward, reverse)


@symmetrizations.register("union")
def union(forward: Links, reverse: Links) -> tuple[Links, Links]:
    """Links that either direction has."""
    extent = _extent(forward, reverse)
    either = np.union1d(_keys(forward, *extent), _keys(reverse, *extent))
    return _both(either, forward, reverse)


@symmetrizations.register("gdfa")
def grow_diag_final_and(forward: Links, reverse: Links) -> tuple[Links, Links]:
    """grow-diag-final-and: from the intersection, add neighbouring links of the union that cover
    a free item, then links of one direction (forward first) between two free items."""
    rows, source, target = [], [], []
    for row, (a, b) in enumerate(zip(_by_row(forward), _by_row(reverse), strict=True)):
        for i, j in sorted(_grow(a, b)):
            rows.append(row)
            source.append(i)
            target.append(j)
    links = Links(
        forward.rows,
        np.array(rows, dtype=np.int64),
        np.array(source, dtype=np.int64),
        np.array(target, dtype=np.int64),
    )
    return _both(_keys(links, *_extent(forward, reverse)), forward, reverse)


# sil-thot also has this rule, but it ignores neighbours in the first row and column.
def _grow(forward: list[tuple[int, int]], reverse: list[tuple[int, int]]) -> set[tuple[int, int]]:
    either = sorted(set(forward) | set(reverse))
    candidates = set(either)
    links = set(forward) & set(reverse)
    sources, targets = {i for i, _ in links}, {j for _, j in links}

    def add(link: tuple[int, int]) -> None:
        links.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grown = True
    while grown:
        grown = False
        for i, j in either:  # links added in this round count in it
            if (i, j) not in links:
                continue
            for di, dj in _NEIGHBOURS:
                link = (i + di, j + dj)
                free = link[0] not in sources or link[1] not in targets
                if free and link in candidates:
                    add(link)
                    grown = True
    for direction in (forward, reverse):
        for link in sorted(direction):
            if link[0] not in sources and link[1] not in targets:
                add(link)
    return links


def _by_row(links: Links) -> list[list[tuple[int, int]]]:
    rows: list[list[tuple[int, int]]] = [[] for _ in range(links.rows)]
    for row, i, j in zip(
        links.row.tolist(), links.source.tolist(), links.target.tolist(), strict=True
    ):
        rows[row].append((i, j))
    return rows


def _keys(links: Links, height: int, width: int) -> np.ndarray:
    """A number for each link, (n,); ``height`` and ``width`` exceed all source and target items."""
    return (links.row * height + links.source) * width + links.target


def _extent(forward: Links, reverse: Links) -> tuple[int, int]:
    height = max((int(x.source.max(initial=0)) for x in (forward, reverse)), default=0) + 1
    width = max((int(x.target.max(initial=0)) for x in (forward, reverse)), default=0) + 1
    return height, width


def _both(keys: np.ndarray, forward: Links, reverse: Links) -> tuple[Links, Links]:
    """Links by their sorted ``keys``, for both directions. A probability is the mean of the two
    directions'; it is 0 in a direction that does not have the link."""
    height, width = extent = _extent(forward, reverse)
    rest, target = np.divmod(keys, width)
    row, source = np.divmod(rest, height)
    probability = None
    if forward.probability is not None and reverse.probability is not None:
        probability = np.zeros(len(keys))
        for one in (forward, reverse):
            own = _keys(one, *extent)
            kept = np.isin(own, keys)
            probability[np.searchsorted(keys, own[kept])] += one.probability[kept] / 2
    links = Links(forward.rows, row, source, target, probability)
    return links, links
