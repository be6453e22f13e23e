"""An orthogonal map learnt without word pairs, by adversarial training against a discriminator.

Conneau et al. 2018, "Word Translation Without Parallel Data", sections 2.1 and 3.1, which TreLM
(appendix A.1) uses to map the skip-gram vectors of a new language to the raw embeddings of a
pretrained encoder:

    L_D = -mean ln P(1 | v W) - mean ln P(0 | u)        the discriminator separates them
    L_W = -mean ln P(0 | v W) - mean ln P(1 | u)        the map is trained to fool it
    W  <- (1 + beta) W - beta W W^T W                   and stays nearly orthogonal

Symbols: ``N`` moving vectors v, ``M`` fixed vectors u, ``D`` width; ``mapped = v @ W``.
"""

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from fairseq_xling.mapping.adversarial_options import AdversarialOptions
from fairseq_xling.mapping.discriminator import Discriminator
from fairseq_xling.mapping.procrustes import nearest_orthogonal


@dataclasses.dataclass(frozen=True)
class Epoch:
    """The state at the end of an epoch.

    Attributes:
        criterion: of the orthogonal matrix nearest to W.
        singular_values: smallest and largest of W itself; 1 and 1 for an orthogonal W.
        lr: the map's learning rate in the epoch.
    """

    criterion: float
    singular_values: tuple[float, float]
    lr: float


def pull_to_orthogonal(w: Tensor, beta: float) -> Tensor:
    """``(1 + beta) W - beta W W^T W``: moves every singular value towards 1.

    >>> pull_to_orthogonal(torch.tensor([[2.0]]), 0.1).item()  # 2.2 - 0.1 * 8
    1.4000000953674316
    """
    return (1 + beta) * w - beta * w @ (w.T @ w)


def train_adversarial(
    moving: Tensor,
    fixed: Tensor,
    options: AdversarialOptions,
    seed: int,
    criterion: Callable[[Tensor], float],
    progress: Callable[[int], object] = lambda steps: None,
) -> tuple[Tensor, list[Epoch]]:
    """Train adversarially from ``W = I`` and keep the best epoch's map.

    Args:
        moving: (N, D), most frequent first; fixed: (M, D), likewise. Neither is changed.
        seed: of the discriminator, the batches and the dropout.
        criterion: unsupervised quality of a map; larger is better.
        progress: called with the number of updates of the map just made.

    Returns:
        The orthogonal matrix (D, D) nearest to the W of the epoch with the highest criterion, and
        all epochs in order. They end early if W stops being finite; if it does so in the first,
        there is none and the map is the identity.
    """
    generator = torch.Generator(moving.device).manual_seed(seed)
    width = moving.shape[1]
    judge = Discriminator(width, options.hidden, options.dropout, generator)
    w = torch.eye(width, dtype=moving.dtype, device=moving.device)
    best, best_w, lr, fallen = float("-inf"), w, options.lr, False
    sides = [x[: options.most_frequent or len(x)] for x in (moving, fixed)]
    truth = torch.full((2 * options.batch,), options.smoothing, device=moving.device)
    truth[: options.batch] = 1 - options.smoothing

    def draw() -> list[Tensor]:
        return [
            side[
                torch.randint(len(side), (options.batch,), generator=generator, device=side.device)
            ]
            for side in sides
        ]

    epochs = []
    for _ in range(options.epochs):
        for _ in range(-(-options.epoch_size // options.batch)):
            for _ in range(options.discriminator_steps):
                v, u = draw()
                judge.update(torch.cat([v @ w, u]), truth, options.lr)
            v, u = draw()
            gradient = judge.input_gradient(torch.cat([v @ w, u]), 1 - truth)
            w = pull_to_orthogonal(w - lr * v.T @ gradient[: options.batch], options.beta)
            progress(1)
        if not torch.isfinite(w).all():
            break
        orthogonal = nearest_orthogonal(w)
        value = criterion(orthogonal)
        values = torch.linalg.svdvals(w)
        epochs.append(Epoch(value, (float(values[-1]), float(values[0])), lr))
        lr *= options.lr_decay
        if value > best:
            best, best_w = value, orthogonal
        else:
            lr *= options.lr_shrink if fallen else 1
            fallen = True
    return best_w, epochs
