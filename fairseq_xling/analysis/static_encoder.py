"""Vectors of subwords instead of an encoder, so that the same measures apply to both.

V ids, D width, B sentences of a batch, T length.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from fairseq_xling.data.folder import CLS, PAD, text_mask


class StaticEncoder:
    """An encoder of one layer, 0, where a token's state is its row of ``table`` (V, D).

    >>> encoder = StaticEncoder(np.arange(8.0)[:, None], ["en"])
    >>> ((indices, states, words),) = encoder.states([np.array([7, 6, 2])], "en")
    >>> states[0, 0, :, 0].tolist(), words.tolist()
    ([0.0, 7.0, 6.0, 2.0], [[False, True, True, False]])
    """

    num_layers = 0

    def __init__(self, table: np.ndarray, languages: Sequence[str]):
        self._table = torch.from_numpy(np.asarray(table, dtype=np.float32))
        self.languages, self.width = list(languages), table.shape[1]

    def states(
        self,
        sentences: Sequence[np.ndarray],
        lang: str,
        max_tokens: int = 8192,
        unknown: bool = False,
    ) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
        """As for an encoder: (indices (B,), states (1, B, T, D), words (B, T))."""
        order = np.argsort([len(ids) for ids in sentences], kind="stable")
        step = max(1, max_tokens // (1 + max(map(len, sentences), default=0)))
        for start in range(0, len(order), step):
            part = order[start : start + step]
            width = 1 + max(len(sentences[i]) for i in part)
            tokens = np.full((len(part), width), PAD)
            tokens[:, 0] = CLS
            for row, i in enumerate(part):
                tokens[row, 1 : 1 + len(sentences[i])] = sentences[i]
            ids = torch.from_numpy(tokens)
            yield part, self._table[ids][None], text_mask(ids, unknown)

    def masked_log_probs(self, *args: object, **kwargs: object) -> Iterator[Tensor]:
        """Static vectors predict nothing.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("static vectors have no language model")
