"""The part of a vocabulary used for learning a map: ranked by frequency, normalised.

Ranks must come from counts: the ids of a subword vocabulary begin with its alphabet, not with its
most frequent words.

Symbols: ``V`` ids of a vocabulary, ``N`` candidates of it, ``D`` width.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.core.errors import UserError
from fairseq_xling.mapping.normalize import normalize
from fairseq_xling.mapping.vectors_file import Vectors


@dataclasses.dataclass(frozen=True)
class Space:
    """Candidates of a vocabulary, most frequent first.

    Attributes:
        vectors: (N, D) float32, normalised.
        ids: (N,) int64, the id of each candidate.
        symbols: their strings, where known.
    """

    vectors: Tensor
    ids: Tensor
    symbols: Sequence[str] | None = None

    @classmethod
    def of(
        cls, vectors: Vectors, steps: str = "none", device: str | torch.device = "cpu"
    ) -> "Space":
        """The ids of ``vectors`` that occur, after the normalisation ``steps``; ties by id.

        Raises:
            UserError: if none occurs.
        """
        order = np.argsort(-vectors.counts, kind="stable")
        order = order[vectors.counts[order] > 0]
        if not len(order):
            raise UserError("has no counts (all are 0), so no word is known to be frequent")
        symbols = vectors.symbols
        return cls(
            normalize(torch.from_numpy(vectors.vectors[order]).to(device), steps),
            torch.from_numpy(order).to(device),
            None if symbols is None else [symbols[i] for i in order.tolist()],
        )
