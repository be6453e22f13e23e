"""ESIM: entailment of two sequences of frozen vectors by recurrent encoders and cross attention.

Chen et al. 2017, "Enhanced LSTM for Natural Language Inference", sections 3.1 to 3.3, the
sequential model; CLCR, section 4.2, uses its own vectors instead of word embeddings.

    a = BiLSTM(x), b = BiLSTM(y)                                    3.1, one BiLSTM for both
    e_ij = a_i . b_j, ã_i = sum_j softmax_j(e_ij) b_j, b̃_j likewise 3.2, local inference
    m_a = [a; ã; a - ã; a * ã], m_b likewise                        3.2, enhancement
    v = BiLSTM(relu(W m + c))                                       3.3, composition
    [mean v_a; max v_a; mean v_b; max v_b], then a tanh layer, then labels

The input projection is not in the paper, whose word embeddings are as narrow as its LSTMs; for
frozen vectors of width 768 it is cheaper.

Symbols: ``B`` pairs, ``K`` and ``M`` vectors of the longest premise and hypothesis, ``D`` their
width, ``H`` hidden units of one direction, ``C`` labels. A padding mask is True at padding, which
follows each sequence; every sequence has at least one vector (ensured by `Sequences.batch`).
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def cross_attention(
    a: Tensor, b: Tensor, a_padding: Tensor, b_padding: Tensor
) -> tuple[Tensor, Tensor]:
    """For each vector of one sequence its mixture of the other, section 3.2.

    Args:
        a: (B, K, E); b: (B, M, E).
        a_padding: (B, K) bool; b_padding: (B, M) bool.

    Returns:
        ã (B, K, E), mixtures of b, and b̃ (B, M, E), mixtures of a. Rows of padding are
        meaningless.

    >>> a, b = torch.tensor([[[9.0, 0.0]]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> none = torch.zeros(1, 1, dtype=torch.bool), torch.zeros(1, 2, dtype=torch.bool)
    >>> found, _ = cross_attention(a, b, *none)
    >>> [round(value, 3) for value in found[0, 0].tolist()]  # almost all of it the first of b
    [1.0, 0.0]
    """
    scores = torch.einsum("bke,bme->bkm", a, b)
    over_b = scores.masked_fill(b_padding[:, None, :], -torch.inf).softmax(2)
    over_a = scores.masked_fill(a_padding[:, :, None], -torch.inf).softmax(1)
    return over_b @ b, over_a.transpose(1, 2) @ a


def mean(x: Tensor, padding: Tensor) -> Tensor:
    """Mean of each sequence, (B, K, E) to (B, E)."""
    count = (~padding).sum(1, keepdim=True)
    return x.masked_fill(padding[..., None], 0.0).sum(1) / count


def pool(x: Tensor, padding: Tensor) -> Tensor:
    """Mean and maximum of each sequence, (B, K, E) to (B, 2E), section 3.3."""
    largest = x.masked_fill(padding[..., None], -torch.inf).amax(1)
    return torch.cat([mean(x, padding), largest], dim=-1)


class BiLstm(nn.Module):
    """One layer in both directions; padding is not read, and is 0 in the output."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        """(B, K, D) to (B, K, 2H)."""
        lengths = (~padding).sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], True, total_length=x.shape[1])[0]


class Esim(nn.Module):
    """See the module's docstring.

    Args:
        width: D; labels: C.
        projection: width of the input projection, 0 for none.
        hidden: H.
        dropout: on the inputs of the LSTMs and the last two layers.
    """

    def __init__(
        self,
        width: int,
        labels: int,
        *,
        projection: int = 0,
        hidden: int = 300,
        dropout: float = 0.5,
    ):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.project = nn.Linear(width, projection) if projection else nn.Identity()
        self.encode = BiLstm(projection or width, hidden)
        self.reduce = nn.Linear(8 * hidden, hidden)
        self.compose = BiLstm(hidden, hidden)
        self.combine = nn.Linear(8 * hidden, hidden)
        self.classify = nn.Linear(hidden, labels)

    def forward(
        self,
        premise: Tensor,
        premise_padding: Tensor,
        hypothesis: Tensor,
        hypothesis_padding: Tensor,
    ) -> Tensor:
        """Logits (B, C), natural-log odds before the softmax over labels.

        Args:
            premise: (B, K, D) with its padding mask (B, K); hypothesis: (B, M, D) with (B, M).
        """
        paddings = premise_padding, hypothesis_padding
        a, b = (
            self.encode(self.dropout(self.project(x)), padding)
            for x, padding in zip((premise, hypothesis), paddings, strict=True)
        )
        found = cross_attention(a, b, *paddings)
        pooled = [
            pool(self._compose(x, other, padding), padding)
            for x, other, padding in zip((a, b), found, paddings, strict=True)
        ]
        hidden = torch.tanh(self.combine(self.dropout(torch.cat(pooled, dim=-1))))
        return self.classify(self.dropout(hidden))

    def _compose(self, x: Tensor, found: Tensor, padding: Tensor) -> Tensor:
        """(B, K, 2H): the enhanced vectors, projected to H, in context."""
        enhanced = torch.cat([x, found, x - found, x * found], dim=-1)
        return self.compose(self.dropout(torch.relu(self.reduce(enhanced))), padding)
