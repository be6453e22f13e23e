"""Vector translation: does one constant vector lead from a sentence to its translation?

Pires et al. 2019, "How Multilingual is Multilingual BERT?", section 5:

    v_L = mean of the sentence's token states,    vbar = mean_i (v_{B,i} - v_{A,i})

and ``v_{A,j} + vbar`` is looked up among the sentences of B by Euclidean distance. The paper prints
the opposite difference, which leads away from B. Here vbar is computed from other sentences than
those it is tested on. `retrieval.sentence_vectors` computes v_L.

Symbols: ``L`` layers (states 0..L), ``N`` sentence pairs, ``M`` targets, ``D`` width. Only blocks
of distances exist at a time.
"""

import torch
from torch import Tensor

from fairseq_xling.analysis.language_mean import random_direction
from fairseq_xling.core.errors import UserError

_CHUNK = 1024  # rows and columns of a block of distances: 8 MB
_TIE = 1e-12  # squared distances whose relative difference is within rounding are the same


def translation_vector(source: Tensor, target: Tensor) -> Tensor:
    """``vbar = (1/N) sum_i (target_i - source_i)``, (D,) in double precision.

    Args:
        source, target: (N, D), row i of one translates row i of the other.

    >>> translation_vector(torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [9.0]])).tolist()
    [2.5]
    """
    return _mean(target) - _mean(source)


def nearest_by_distance(queries: Tensor, targets: Tensor, chunk: int = _CHUNK) -> Tensor:
    """The target at the smallest Euclidean distance from each query; -1 if two are equally near.

    A tie counts as no answer, so that a model that maps everything to one point finds nothing.

    Args:
        queries: (N, D); targets: (M, D).
        chunk: at most ``chunk * chunk`` distances exist at a time.

    Returns:
        (N,) int64.

    >>> targets = torch.tensor([[0.0, 0.0], [4.0, 0.0]])
    >>> nearest_by_distance(torch.tensor([[3.0, 1.0], [1.0, 9.0], [2.0, 5.0]]), targets).tolist()
    [1, 0, -1]
    """
    # Both sides are shifted alike: near the origin squared lengths leave precision for distances.
    origin = _mean(targets)
    return torch.cat(
        [_nearest(part.double() - origin, targets, origin, chunk) for part in queries.split(chunk)]
    )


def translation_accuracy(
    source: Tensor, target: Tensor, vector: Tensor | None = None, chunk: int = _CHUNK
) -> float:
    """How often ``target_i`` is the nearest of all targets to ``source_i + vector``, in [0, 1].

    A tie is wrong. Chance is ``1 / N``.

    Args:
        source, target: (N, D), row i of one translates row i of the other.
        vector: (D,); nothing is added without it.

    >>> x = torch.eye(3)
    >>> translation_accuracy(x, x + 9, torch.full((3,), 9.0))
    1.0
    >>> translation_accuracy(torch.ones(3, 2), torch.ones(3, 2))
    0.0
    """
    moved = source.double() if vector is None else source.double() + vector.double()
    own = torch.arange(len(source), device=source.device)
    return float((nearest_by_distance(moved, target, chunk) == own).double().mean())


def split_pairs(count: int, held_out: float = 0.5, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Rows for vbar and rows to test it on, each increasing, drawn by a separate generator.

    Args:
        count: N sentence pairs.
        held_out: share of them to test on.

    Raises:
        UserError: if the share leaves no pair for vbar, or fewer than 2 to test on.

    >>> [len(rows) for rows in split_pairs(10, held_out=0.3)]
    [7, 3]
    """
    if not 0 < held_out < 1:
        raise UserError(f"`held_out` must lie between 0 and 1, got {held_out}")
    tested = round(held_out * count)
    if tested < 2 or tested >= count:
        raise UserError(
            "`held_out` must leave 1 pair to learn from and 2 to test on, "
            f"got {held_out} of {count}"
        )
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    return order[tested:].sort()[0], order[:tested].sort()[0]


def vector_translation(
    source: Tensor,
    target: Tensor,
    held_out: float = 0.5,
    seed: int = 0,
    chunk: int = _CHUNK,
    control: int | None = None,
) -> Tensor:
    """Accuracy per layer on held-out sentences, without and with the vector of the others.

    Args:
        source, target: (L+1, N, D), sentence i of one translates sentence i of the other.
        held_out, seed: of `split_pairs`; candidates are the held-out targets.
        control: seed of a random direction that is added instead, as far as vbar.

    Returns:
        (L+1, 2): ``acc[l, 0]`` before and ``acc[l, 1]`` after vbar of layer l is added.

    Raises:
        UserError: if sentences do not pair up, are too few, or a value is not finite.

    >>> x = torch.arange(8.0)[None, :, None]
    >>> vector_translation(x, x - 100).tolist()
    [[0.25, 1.0]]
    """
    if source.dim() != 3 or source.shape != target.shape:
        raise UserError(
            "sentences must be (layers, pairs, width) on both sides, "
            f"got {tuple(source.shape)} and {tuple(target.shape)}"
        )
    if not (torch.isfinite(source).all() and torch.isfinite(target).all()):
        raise UserError("vectors to compare must be finite, got NaN or infinity")
    learn, test = (rows.to(source.device) for rows in split_pairs(source.shape[1], held_out, seed))
    result = []
    for x, y in zip(source, target, strict=True):
        vector = translation_vector(x[learn], y[learn])
        if control is not None:
            vector = random_direction(vector[None], control)[0]
        x, y = x[test], y[test]
        result.append([translation_accuracy(x, y, v, chunk) for v in (None, vector)])
    return torch.tensor(result, dtype=torch.float64)


def _nearest(rows: Tensor, targets: Tensor, origin: Tensor, chunk: int) -> Tensor:
    """`nearest_by_distance` for some queries from which ``origin`` was subtracted."""
    scores = rows.new_empty(len(rows), 0)
    index = torch.empty(len(rows), 0, dtype=torch.int64, device=rows.device)
    for start in range(0, len(targets), chunk):
        block = targets[start : start + chunk].double() - origin
        # Squared distance less the query's own squared length, which is the same for all targets.
        found = block.square().sum(1) - 2 * rows @ block.T
        values, places = found.topk(min(2, len(block)), largest=False)
        scores = torch.cat([scores, values], dim=1)
        index = torch.cat([index, places + start], dim=1)
        scores, keep = scores.topk(min(2, scores.shape[1]), largest=False)
        index = index.gather(1, keep)
    if index.shape[1] == 1:
        return index[:, 0]
    # The two best again, term by term: equal targets are then equally near to the last bit.
    pair = (rows[:, None] - (targets[index].double() - origin)).square().sum(-1)
    best = index.gather(1, pair.argmin(1, keepdim=True))[:, 0]
    tied = (pair[:, 0] - pair[:, 1]).abs() <= _TIE * pair.amax(1)
    return best.masked_fill(tied, -1)


def _mean(rows: Tensor) -> Tensor:
    return sum(part.double().sum(0) for part in rows.split(_CHUNK)) / len(rows)
