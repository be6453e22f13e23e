"""What a target item with links to several source items gets its state from (`--many-to-one`).

TreLM (Li et al., 2021), Section 3.1, gives each target item one source item or none. fast_align
also does, but combined or existing links may not; the paper does not say what happens then.

A rule finds *layers* of orders, (K, N) for N target items back to back: index + 1 of a source item,
0 for none. The first layer is the order; further ones are links whose states are averaged with it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairseq_xling.registry import Registry
from fairseq_xling.text.links import Links, order_of


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


def _lowest(links: Links, sizes: np.ndarray) -> np.ndarray:
    return order_of(links, sizes)[None]


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
    number = np.arange(len(item))
    first = np.searchsorted(item, item)  # where the links of the same item begin
    rank = number - first
    layers = np.zeros((int(rank.max(initial=0)) + 1, int(sizes.sum())), dtype=np.int64)
    layers[rank, item] = links.source[chosen] + 1
    return layers


for _name, _rule in {
    LOWEST: ManyToOne(_lowest),
    "highest": ManyToOne(_highest, needs_probability=True),
    "last": ManyToOne(_last),
    "mean": ManyToOne(_all, several=True),
}.items():
    many_to_one.register(_name)(_rule)
