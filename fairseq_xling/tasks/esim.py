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
follows each sequence; every sequence has at least one vector. ``N`` pairs of a file.

The training (`fit_pairs`) has its own loop instead of `fairseq-train`: the vectors are frozen, so
an epoch is a few small matrices over mapped arrays, there is no encoder, dictionary or task, and
dozens of such trainings (rows x seeds) run in one process.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from fairseq_xling.analysis.best_pass import BestPass
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import (
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SEEDS,
    Range,
    check_fields,
    numbers,
)


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


_POOL = 50  # batches whose pairs are sorted by length together


@dataclass(frozen=True)
class EsimOptions:
    """Settings of the network and its training; the defaults are those of Chen et al. (2017).

    Attributes:
        projection, hidden, dropout: of `Esim`.
        lr: of Adam; batch_size: pairs per step; clip: maximum gradient norm.
        epochs: maximum passes over the pairs; training ends after ``patience`` passes without a
            better accuracy on dev, and the best pass is used.
        seed: of weights, order and dropout.
    """

    projection: int = numbers(0, NOT_NEGATIVE)
    hidden: int = numbers(300, COUNT)
    dropout: float = numbers(0.5, BELOW_ONE)
    lr: float = numbers(4e-4, Range(0, 1, above=True, below=True))
    batch_size: int = numbers(32, COUNT)
    clip: float = numbers(10.0, POSITIVE)
    epochs: int = numbers(20, COUNT)
    patience: int = numbers(5, COUNT)
    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        check_fields(type(self), self)


class LabelledPairs(Protocol):
    """What is trained on.

    Attributes:
        path: where it comes from, for messages.
        labels: (N,) int64, -1 if the label is unknown, or not among those trained on.
        sizes: (N,), the number of vectors of both sides together.
    """

    path: Path
    labels: np.ndarray
    sizes: np.ndarray

    def __len__(self) -> int: ...

    def inputs(self, chosen: np.ndarray, device: torch.device) -> tuple[Tensor, ...]:
        """The inputs of the network for some pairs."""


@dataclass
class Trained:
    """A trained network.

    Attributes:
        network: with the weights of the best pass.
        epoch: the best pass, from 1; curve: accuracy on dev after each, in [0, 1].
    """

    network: nn.Module
    batch_size: int
    device: torch.device
    epoch: int = 0
    curve: list[float] = field(default_factory=list)

    @torch.no_grad()
    def logits(self, pairs: LabelledPairs) -> Tensor:
        """(N, C) on the CPU, in the order of the pairs."""
        self.network.eval()
        order = np.argsort(pairs.sizes, kind="stable")
        found = [
            self.network(*pairs.inputs(chosen, self.device)).float().cpu()
            for chosen in batches(order, self.batch_size)
        ]
        result = torch.empty(len(pairs), found[0].shape[1])
        result[torch.from_numpy(order)] = torch.cat(found)
        return result

    def predict(self, pairs: LabelledPairs) -> np.ndarray:
        """(N,) int64, the number of the likeliest label."""
        return self.logits(pairs).argmax(1).numpy()


def fit_pairs(
    network: Callable[[], nn.Module],
    train: LabelledPairs,
    dev: LabelledPairs,
    options: EsimOptions,
    device: str | torch.device = "cpu",
    passed: Callable[[float], object] = lambda accuracy: None,
) -> Trained:
    """Train on ``train``, with early stopping on ``dev``, of the same language.

    The result depends only on network, pairs and options, and does not use torch's global
    generator.

    Args:
        network: makes the network, whose outputs are logits (B, C).
        passed: called after each pass with the accuracy on dev, in [0, 1].

    Raises:
        UserError: if no training pair has a label, or a value is NaN or infinite.
    """
    usable = np.flatnonzero(train.labels >= 0)
    if not len(usable):
        raise UserError(f"{train.path}: must have at least 1 labelled pair, got 0")
    device = torch.device(device)
    labels = torch.from_numpy(train.labels)
    shuffle = np.random.default_rng(options.seed)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(options.seed)
        made = network().to(device)
        trained = Trained(made, options.batch_size, device)
        optimizer = torch.optim.Adam(made.parameters(), lr=options.lr)
        # Among equal accuracies the more confident one.
        best = BestPass(made, options.patience, watched=1)
        for _ in range(options.epochs):
            made.train()
            for chosen in shuffled_batches(train.sizes, usable, options.batch_size, shuffle):
                logits = made(*train.inputs(chosen, device))
                loss = F.cross_entropy(logits, labels[torch.from_numpy(chosen)].to(device))
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(made.parameters(), options.clip)
                optimizer.step()
            reached = _measure(trained, dev)
            trained.curve.append(reached[0])
            passed(reached[0])
            if best.ends(*reached):
                break
        best.restore()
        trained.epoch = best.epoch
    return trained


def shuffled_batches(
    sizes: np.ndarray, usable: np.ndarray, batch_size: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Batches of pairs of similar length, in random order: each pair once.

    Args:
        sizes: (N,), the sort key; usable: the pairs to use.
    """
    order = usable[generator.permutation(len(usable))]
    pools = batches(order, _POOL * batch_size)
    pools = (pool[np.argsort(sizes[pool], kind="stable")] for pool in pools)
    found = [batch for pool in pools for batch in batches(pool, batch_size)]
    return (found[number] for number in generator.permutation(len(found)))


def _measure(trained: Trained, dev: LabelledPairs) -> tuple[float, float]:
    """Accuracy and mean log-likelihood on dev; unknown labels are wrong."""
    logits, gold = trained.logits(dev), torch.from_numpy(dev.labels)
    known = gold >= 0
    likelihood = -F.cross_entropy(logits[known], gold[known]) if known.any() else torch.zeros(())
    return float((logits.argmax(1) == gold).float().mean()), float(likelihood)


def batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """``rows`` in their order, ``size`` at a time."""
    return (rows[start : start + size] for start in range(0, len(rows), size))
