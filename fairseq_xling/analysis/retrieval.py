"""Sentence retrieval by layer: how often the nearest neighbour is the translation.

Conneau et al. 2020, "Emerging Cross-lingual Structure in Pretrained Language Models", section
5.1.3: a sentence is the mean of its subword states, special symbols excluded; the score is the
accuracy of nearest-neighbour search by cosine, here without a map between the spaces.

Symbols: ``L`` layers (states 0..L, 0 = embedding output), ``B`` batch, ``T`` length, ``N``
sentences, ``D`` width.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.analysis.ranks import Repeats, found


def sentence_vectors(states: Tensor, words: Tensor) -> Tensor:
    """Mean state over word positions: ``v[l, b] = sum_t w[b, t] h[l, b, t] / sum_t w[b, t]``.

    Args:
        states: (L+1, B, T, D); positions outside ``words`` have no influence.
        words: (B, T) bool, True at subwords, False at special symbols and padding.

    Returns:
        (L+1, B, D); zero for a sentence without words.

    >>> states = torch.tensor([[[[9.0], [1.0], [3.0]]]])
    >>> sentence_vectors(states, torch.tensor([[False, True, True]])).flatten().tolist()
    [2.0]
    """
    kept = states.masked_fill(~words[None, :, :, None], 0.0)  # not a product: 0 * inf is NaN
    return kept.sum(2) / words.sum(1).clamp(min=1)[None, :, None]


def collect_vectors(
    batches: Iterable[tuple[np.ndarray, Tensor, Tensor]],
    count: int,
    pool: Callable[[Tensor, Tensor], Tensor] = sentence_vectors,
) -> Tensor:
    """Vectors of ``count`` sentences, (L+1, N, D), from batches ``(indices, states, words)``.

    Args:
        pool: makes (L+1, B, D) of states (L+1, B, T, D) and words (B, T).
    """
    result = None
    for indices, states, words in batches:
        vectors = pool(states, words)
        if result is None:
            result = vectors.new_zeros(len(vectors), count, vectors.shape[-1])
        result[:, torch.as_tensor(indices)] = vectors
    if result is None:
        raise ValueError("there are no sentences to encode")
    return result


def retrieval_accuracy(
    source: Tensor,
    target: Tensor,
    chunk: int = 1024,
    repeats: Sequence[Repeats | None] = (None, None),
) -> Tensor:
    """P@1 per layer in both directions.

    ``acc[l, 0]`` is the share of sentences ``i`` whose nearest neighbour among all target vectors
    of layer ``l`` is target ``i``; ``acc[l, 1]`` the same from target to source. A tie is wrong.
    Chance is ``1 / N``.

    Args:
        source, target: (L+1, N, D), sentence ``i`` of one translates sentence ``i`` of the other.
        repeats: of each direction, where texts are repeated (`right_answers`).

    Returns:
        (L+1, 2) in [0, 1].

    >>> x = torch.eye(4)[None]
    >>> retrieval_accuracy(x, x[:, [0, 1, 3, 2]]).tolist()
    [[0.5, 0.5]]
    """
    rows = [
        [
            found(a, b, same, chunk).double().mean()
            for a, b, same in ((x, y, repeats[0]), (y, x, repeats[1]))
        ]
        for x, y in zip(source, target, strict=True)
    ]
    return torch.tensor(rows)
