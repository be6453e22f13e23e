"""GloVe vectors of subwords (Pennington et al. 2014, "GloVe: Global Vectors for Word
Representation"), vectorised: no maintained package of it is compatible with the other dependencies.

    J = sum_ij f(X_ij) (w_i . v_j + b_i + c_j - ln X_ij)^2,   f(x) = min(1, (x / x_max)^0.75)

with X_ij the number of times that j occurs near i, a neighbour at distance d counting 1/d. It is
minimised by AdaGrad in batches of pairs; the vector of a subword is ``w_i + v_i``.

V ids of the vocabulary, D width, P pairs with X_ij > 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS
from fairseq_xling.data.mmap import TokenFile

_BLOCK = 1 << 14  # sentences counted at a time


@dataclass(frozen=True)
class GloveOptions:
    """Settings of the training.

    Attributes:
        dim: D; window: distance of the farthest neighbour that counts.
        epochs: passes over the pairs; batch: pairs per step; lr: AdaGrad's.
        x_max: the count from which pairs have equal weight.
        seed: of the initial vectors and the order of the pairs.
    """

    dim: int = 768
    window: int = 10
    epochs: int = 25
    batch: int = 1024
    lr: float = 0.05
    x_max: float = 100.0
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("dim", "window", "epochs", "batch"):
            if getattr(self, name) < 1:
                raise UserError(f"GloVe: `{name}` must be at least 1, got {getattr(self, name)}")


def cooccurrences(files: Sequence[TokenFile], size: int, window: int) -> sparse.csr_matrix:
    """X (V, V), symmetric float64, over sentences of all ``files``, without special symbols.

    Memory grows with the number of different pairs, not with the text.
    """
    total = sparse.csr_matrix((size, size), dtype=np.float64)
    for file in files:
        for start in range(0, len(file), _BLOCK):
            tokens, sizes = file.block(start, min(start + _BLOCK, len(file)))
            owner = np.repeat(np.arange(len(sizes)), sizes)
            kept = tokens >= SPECIALS
            tokens, owner = tokens[kept], owner[kept]
            for distance in range(1, min(window, len(tokens) - 1) + 1):
                same = owner[:-distance] == owner[distance:]
                pair = tokens[:-distance][same], tokens[distance:][same]
                weights = np.full(int(same.sum()), 1 / distance)
                total = total + sparse.csr_matrix((weights, pair), shape=(size, size))
    return (total + total.T).tocsr()


def train_glove(
    counts: sparse.spmatrix,
    options: GloveOptions,
    passed: Callable[[float], object] = lambda loss: None,
) -> np.ndarray:
    """The vectors (V, D) float32; those of ids without a neighbour are zero.

    Args:
        counts: X (V, V).
        passed: called after each pass with J / P.

    Raises:
        UserError: if no two subwords occur near each other.
    """
    pairs = counts.tocoo()
    if not pairs.nnz:
        raise UserError("GloVe needs text in which two subwords occur near each other, got none")
    row, column = (torch.from_numpy(x.astype(np.int64)) for x in (pairs.row, pairs.col))
    x = torch.from_numpy(pairs.data).float()
    weight, target = (x / options.x_max).clamp(max=1) ** 0.75, x.log()
    generator = torch.Generator().manual_seed(options.seed)
    size, dim = counts.shape[0], options.dim
    # The last column is the bias; as in the original, initial values are in (-1/2D, 1/2D).
    tables = [
        torch.nn.Embedding.from_pretrained(
            (torch.rand(size, dim + 1, generator=generator) - 0.5) / dim, freeze=False, sparse=True
        )
        for _ in range(2)
    ]
    optimizer = torch.optim.Adagrad(
        [table.weight for table in tables], lr=options.lr, initial_accumulator_value=1.0
    )
    for _ in range(options.epochs):
        total = 0.0
        for chosen in torch.randperm(len(x), generator=generator).split(options.batch):
            w, v = tables[0](row[chosen]), tables[1](column[chosen])
            product = (w[:, :-1] * v[:, :-1]).sum(1) + w[:, -1] + v[:, -1]
            loss = (weight[chosen] * (product - target[chosen]).square()).sum()
            optimizer.zero_grad()
            (0.5 * loss).backward()
            with torch.sparse.check_sparse_tensor_invariants(False):  # it warns by default
                optimizer.step()
            total += float(loss.detach())
        passed(total / len(x))
    vectors = (tables[0].weight + tables[1].weight)[:, :-1].detach().numpy()
    seen = np.zeros(size, dtype=bool)
    seen[pairs.row] = True
    return np.where(seen[:, None], vectors, 0).astype(np.float32)
