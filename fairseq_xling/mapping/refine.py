"""Refine a map with the dictionary that it induces.

Conneau et al. 2018, "Word Translation Without Parallel Data", section 2.2, as TreLM runs it
(appendix A.1): mutual nearest neighbours by CSLS, among the most frequent words of both
languages, are treated as translations; Procrustes on them gives the next map.

Symbols: ``N`` moving vectors, ``M`` fixed vectors, both most frequent first, ``D`` width.
"""

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_xling.mapping.csls import mutual_neighbours
from fairseq_xling.mapping.procrustes import procrustes


@dataclasses.dataclass(frozen=True)
class Round:
    """One refinement: the size of its dictionary, and the criterion of the resulting map."""

    pairs: int
    criterion: float


def refine(
    w: Tensor,
    moving: Tensor,
    fixed: Tensor,
    criterion: Callable[[Tensor], float],
    rounds: int = 5,
    max_rank: int = 15_000,
    k: int = 10,
    progress: Callable[[int], object] = lambda rounds: None,
) -> tuple[Tensor, list[Round]]:
    """Refine ``w`` and keep the best map by ``criterion``, ``w`` itself included.

    Args:
        w: (D, D), ``mapped = moving @ w``.
        moving: (N, D); fixed: (M, D). Neither is changed.
        criterion: unsupervised quality of a map; larger is better.
        rounds: number of dictionaries, each induced by the previous map (not the best one).
        max_rank: only this many most frequent words of each language can be in a dictionary.
        k: neighbourhood of CSLS.

    Returns:
        The best map (D, D), and the result of each round; fewer rounds if no pair is mutual.
    """
    best, best_value, done = w, criterion(w), []
    moving, fixed = moving[:max_rank], fixed[:max_rank]
    for _ in range(rounds):
        pairs = mutual_neighbours(moving @ w, fixed, k)
        if not len(pairs):
            break
        w = procrustes(moving[pairs[:, 0]], fixed[pairs[:, 1]])
        value = criterion(w)
        done.append(Round(len(pairs), value))
        if value > best_value:
            best, best_value = w, value
        progress(1)
    return best, done


def random_rotation(width: int, seed: int) -> Tensor:
    """A random orthogonal matrix (D, D), uniform over all of them (Stewart 1980).

    >>> w = random_rotation(3, seed=1)
    >>> torch.allclose(w.T @ w, torch.eye(3), atol=1e-6)
    True
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(width, width, generator=generator, dtype=torch.float64)
    q, r = torch.linalg.qr(drawn)
    return (q * r.diagonal().sign()).float()
