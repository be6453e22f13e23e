"""Rules about links: how both directions combine, and which of several links of an item count.

Directions: Och & Ney 2003; Koehn et al. 2003 (`--symmetrise`).

Several links (`--many-to-one`): TreLM (Li et al., 2021), Section 3.1, gives each target item one
source item or none. fast_align also does, but combined or existing links may not; the paper does
not say what happens then. A rule finds *layers* of orders, (K, N) for N target items back to back:
index + 1 of a source item, 0 for none. The first layer is the order; further ones are links whose
states are averaged with it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairseq_xling.core.registry import Registry
from fairseq_xling.text.links import Links, order_of

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
    grown = [
        (row, i, j)
        for row, (a, b) in enumerate(zip(_by_row(forward), _by_row(reverse), strict=True))
        for i, j in sorted(_grow(a, b))
    ]
    links = Links(forward.rows, *np.array(grown, dtype=np.int64).reshape(-1, 3).T)
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
    for row, i, j in np.stack([links.row, links.source, links.target], axis=1).tolist():
        rows[row].append((i, j))
    return rows


def _keys(links: Links, height: int, width: int) -> np.ndarray:
    """A number for each link, (n,); ``height`` and ``width`` exceed all source and target items."""
    return (links.row * height + links.source) * width + links.target


def _extent(forward: Links, reverse: Links) -> tuple[int, int]:
    height = max(int(x.source.max(initial=0)) for x in (forward, reverse)) + 1
    width = max(int(x.target.max(initial=0)) for x in (forward, reverse)) + 1
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


@dataclass(frozen=True)
class ManyToOne:
    """A rule.

    Attributes:
        layers: from links and the sizes of the target sentences (n,) to layers (K, N) int64.
        needs_probability: whether links need a probability.
        several: whether there may be further layers.
    """

    layers: Callable[[Links, np.ndarray], np.ndarray]
    needs_probability: bool = False
    several: bool = False


many_to_one: Registry[ManyToOne] = Registry("rule")
LOWEST = "lowest"


def _last(links: Links, sizes: np.ndarray) -> np.ndarray:
    return _ranked(links, sizes, -np.arange(len(links.row)))[:1]


def _highest(links: Links, sizes: np.ndarray) -> np.ndarray:
    if links.probability is None:
        raise ValueError("the most probable link needs `links` with probabilities, got none")
    return _ranked(links, sizes, links.source, -links.probability)[:1]


def _all(links: Links, sizes: np.ndarray) -> np.ndarray:
    row, target, source = np.unique(np.stack([links.row, links.target, links.source]), axis=1)
    return _ranked(Links(links.rows, row, source, target), sizes, source)


def _ranked(links: Links, sizes: np.ndarray, *keys: np.ndarray) -> np.ndarray:
    """Layer k has each target item's k-th link, sorted by ``keys`` (n,), the last one first.

    >>> links = Links(1, np.array([0, 0, 0]), np.array([4, 3, 7]), np.array([1, 1, 0]))
    >>> _ranked(links, np.array([3]), links.source).tolist()
    [[8, 4, 0], [0, 5, 0]]
    """
    item = (np.cumsum(sizes) - sizes)[links.row] + links.target
    chosen = np.lexsort((*keys, item))
    item = item[chosen]
    # After so many others of the same item.
    rank = np.arange(len(item)) - np.searchsorted(item, item)
    layers = np.zeros((int(rank.max(initial=0)) + 1, int(sizes.sum())), dtype=np.int64)
    layers[rank, item] = links.source[chosen] + 1
    return layers


for _name, _rule in {
    LOWEST: ManyToOne(lambda links, sizes: order_of(links, sizes)[None]),
    "highest": ManyToOne(_highest, needs_probability=True),
    "last": ManyToOne(_last),
    "mean": ManyToOne(_all, several=True),
}.items():
    many_to_one.register(_name)(_rule)
