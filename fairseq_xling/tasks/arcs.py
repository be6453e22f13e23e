"""Scores of pairs of words, and the tree of highest score: what parsing and semantic roles share.

Dozat and Manning (2017), "Deep Biaffine Attention for Neural Dependency Parsing", Section 3.2 and
Table 1: each word has one vector as the left member of a pair and another as the right one, made
by a perceptron; dropout has one mask for all words of a sentence.

Maximum spanning trees with one root: Chu and Liu (1965) and Edmonds (1967), contracted in dense
form as by Tarjan (1977): O(W^2) for a sentence. The single-root constraint is exact: if the best
tree has several roots, an arc from the root is made to cost more than anything else can gain, and
the tree is found again, as in Stanojević and Cohen (2021), "A Root of a Problem: Optimizing
Single-Root Dependency Parsing". A large constant would swallow small differences, so this cost is
compared before the scores.

B sentences, X and Y words, M pairs, I and J sizes of left and right vectors, K outputs. A weight is
(K, I or I + 1, J or J + 1): if it is larger by one, a 1 is appended to the vectors, so that it
contains the terms that are linear in the other side. All scores are computed in float32. For trees,
W words, N = W + 1: word 0 is the root; ``scores[b, d, h]`` is that of the arc from head h to
dependent d; row 0 is not read.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.dropout import SharedDropout


class Perceptron(nn.Sequential):
    """Words (B, X, dim) as members of pairs (B, X, size)."""

    def __init__(self, dim: int, size: int, dropout: float):
        super().__init__(nn.Linear(dim, size), nn.LeakyReLU(0.1), SharedDropout(dropout))


def new_weight(outputs: int, left: int, right: int) -> nn.Parameter:
    """A weight (K, left, right) with equal scores for all pairs, as in Dozat and Manning."""
    return nn.Parameter(torch.zeros(outputs, left, right))


def pair_scores(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    """The scores (B, X, Y, K) of each left word x (B, X, I) with each right word y (B, Y, J).

    >>> x, y = torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[5.0], [7.0]]])
    >>> pair_scores(x, torch.tensor([[[1.0], [10.0]]]), y)[0, ..., 0].tolist()  # x y + 10 y
    [[60.0, 84.0], [65.0, 91.0]]
    """
    with torch.autocast(x.device.type, enabled=False):
        return torch.einsum("bxkj,byj->bxyk", _half(x, weight), _widened(y, weight.shape[2]))


def chosen_scores(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    """The scores (M, K) of M pairs x (M, I) and y (M, J): the cost is that of M, not of X Y.

    >>> chosen_scores(torch.tensor([[2.0]]), torch.tensor([[[1.0], [10.0]]]), torch.tensor([[5.0]]))
    tensor([[60.]])
    """
    with torch.autocast(x.device.type, enabled=False):
        return torch.einsum("mkj,mj->mk", _half(x, weight), _widened(y, weight.shape[2]))


def _half(x: Tensor, weight: Tensor) -> Tensor:
    """The products of x (..., I) with all left sides of the weight (..., K, J)."""
    outputs, left, right = weight.shape
    flat = weight.float().transpose(0, 1).reshape(left, outputs * right)
    return (_widened(x, left) @ flat).unflatten(-1, (outputs, right))


def _widened(x: Tensor, size: int) -> Tensor:
    return F.pad(x.float(), (0, size - x.shape[-1]), value=1.0)


def best_trees(scores: Tensor, lengths: Tensor) -> Tensor:
    """The heads of the words (B, W) in the tree with the highest sum of scores; 0 in padding.

    Args:
        scores: (B, N, N); -inf forbids an arc, if there is a tree without it.
        lengths: words of each sentence (B,).

    >>> scores = torch.tensor([[[0.0, 0, 0], [5, 0, 9], [4, 9, 0]]])
    >>> best_trees(scores, torch.tensor([2])).tolist()  # each word is the other's best head
    [[0, 1]]

    Raises:
        UserError: for a score that is NaN or +inf.
    """
    place = torch.arange(scores.shape[1], device=scores.device)
    padding = place > lengths[:, None]
    forbidden = padding[:, None, :] | (place == place[:, None])
    allowed = scores.detach().masked_fill(forbidden, -torch.inf)
    highest, heads = allowed.max(-1)
    heads = heads.masked_fill(padding | (place == 0), 0)
    if not bool(((highest < torch.inf) | padding).all()):  # nor is NaN less
        raise UserError("`scores` of arcs must be numbers or -inf, got NaN or +inf")
    (rest,) = torch.where(~are_trees(heads, lengths))
    if len(rest):
        dense = allowed[rest].double().cpu().numpy()
        exact = np.zeros(dense.shape[:2], dtype=np.int64)
        for number, n in enumerate((lengths[rest] + 1).tolist()):
            exact[number, :n] = best_tree(dense[number, :n, :n])
        heads[rest] = torch.from_numpy(exact).to(heads)
    return heads[:, 1:]


def are_trees(heads: Tensor, lengths: Tensor) -> Tensor:
    """Whether ``heads`` (B, N), which are 0 in padding, are trees with one root (B,).

    Each word follows its heads by doubling steps, and must reach the root.

    >>> heads = torch.tensor([[0, 2, 0, 2], [0, 0, 3, 2], [0, 0, 0, 1]])
    >>> are_trees(heads, torch.tensor([3, 3, 3])).tolist()
    [True, False, False]
    """
    words = torch.arange(heads.shape[1], device=heads.device)[1:] <= lengths[:, None]
    single = ((heads[:, 1:] == 0) & words).sum(-1) == 1
    ancestors = heads
    for _ in range(heads.shape[1].bit_length()):
        ancestors = ancestors.gather(1, ancestors)
    return single & (ancestors == 0).all(-1)


def best_tree(scores: np.ndarray) -> np.ndarray:
    """The heads (N,) of one sentence, whose scores (N, N) are finite or -inf; that of 0 is 0.

    >>> best_tree(np.array([[0, 0, 0], [7, 0, 1], [7.0, 2, 0]]))  # two roots would be better
    array([0, 0, 1])
    """
    # Complex numbers are added part by part, and numpy compares the real part first: an arc's cost
    # by its kind, then its score. N - 1 forbidden arcs are still cheaper than an additional root.
    forbidden = np.isneginf(scores)
    value = np.where(forbidden, 0, scores) * 1j - forbidden
    np.fill_diagonal(value, -np.inf)
    heads = _edmonds(value.copy())
    if (heads[1:] == 0).sum() > 1:
        value[:, 0] -= len(scores)
        heads = _edmonds(value)
    return heads


def _edmonds(value: np.ndarray) -> np.ndarray:
    """The heads of the best tree with any number of roots; ``value`` (N, N) is overwritten."""
    size = len(value)
    # An arc between rows represents one between words: its dependent * N + its head.
    arc = np.arange(size * size).reshape(size, size)
    best = value.argmax(1)
    # A row is a word, or a cycle that was contracted into it: a node with a number from N upwards.
    nodes, parents, members, arcs = list(range(size)), {}, {}, {}
    done, gone = {0}, set()  # rows that lead to the root, rows that are contracted into others
    for start in range(1, size):
        path: list[int] = []
        row = start
        while row not in done and row not in gone:
            if row not in path:
                path.append(row)
                row = int(best[row])
                continue
            cycle = path[path.index(row) :]
            del path[-len(cycle) :]
            node = size + len(members)
            members[node] = [nodes[member] for member in cycle]
            arcs.update(zip(members[node], arc[cycle, best[cycle]].tolist(), strict=True))
            parents.update(dict.fromkeys(members[node], node))
            nodes[row] = node
            _contract(value, arc, best, np.array(cycle))
            gone.update(cycle[1:])
        done.update(path)
    heads = np.zeros(size, dtype=np.int64)
    chosen = [(nodes[row], int(arc[row, best[row]])) for row in range(1, size) if row not in gone]
    while chosen:
        top, entering = chosen.pop()
        node, head = divmod(entering, size)
        heads[node] = head
        while node != top:
            # The member that is entered leaves its arc in the cycle; the others keep theirs.
            above = parents[node]
            chosen += [(other, arcs[other]) for other in members[above] if other != node]
            node = above
    return heads


def _contract(value: np.ndarray, arc: np.ndarray, best: np.ndarray, cycle: np.ndarray) -> None:
    """Contract ``cycle`` into its first row, in place."""
    first, every = cycle[0], np.arange(len(value))
    # Into the cycle: the gain when a member gets that head instead of the one before it.
    gains = value[cycle] - value[cycle, best[cycle]][:, None]
    member = gains.argmax(0)
    value[first], arc[first] = gains[member, every], arc[cycle[member], every]
    # Out of the cycle: the member that is the best head of each row.
    member = cycle[value[:, cycle].argmax(1)]
    value[:, first], arc[:, first] = value[every, member], arc[every, member]
    value[:, cycle[1:]] = -np.inf
    value[first, first] = -np.inf
    inside = np.zeros(len(value), dtype=bool)
    inside[cycle] = True
    best[inside[best]] = first
    best[first] = value[first].argmax()
