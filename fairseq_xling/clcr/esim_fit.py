"""Train an `Esim`, or another network of frozen sequences, and predict with it.

It has its own loop instead of `fairseq-train`: the vectors are frozen, so an epoch is a few small
matrices over mapped arrays, there is no encoder, dictionary or task, and dozens of such trainings
(rows x seeds) run in one process.

Symbols: ``N`` pairs, ``B`` of a batch, ``C`` labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.analysis.best_pass import BestPass
from fairseq_xling.clcr.esim import Esim
from fairseq_xling.clcr.sequences import Sequences, check_same_sentences
from fairseq_xling.errors import UserError
from fairseq_xling.ranges import (
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    Range,
    check_fields,
    numbers,
)
from fairseq_xling.seeds import SEEDS

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


@dataclass(frozen=True)
class Pairs:
    """Premise n with hypothesis n, and the number of its label.

    Attributes:
        labels: (N,) int64, -1 if the label is unknown, or not among those trained on.

    Raises:
        UserError: if the folders do not pair up.
    """

    premises: Sequences
    hypotheses: Sequences
    labels: np.ndarray

    def __post_init__(self) -> None:
        check_same_sentences(self.premises, self.hypotheses)
        if len(self.labels) != self.premises.sentences:
            raise UserError(
                f"{self.premises.path}: must have a sentence for each of {len(self.labels)} "
                f"labelled pairs, got {self.premises.sentences}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def path(self) -> Path:
        return self.premises.path

    @property
    def sizes(self) -> np.ndarray:
        """(N,), the number of vectors of premise and hypothesis together."""
        return self.premises.counts + self.hypotheses.counts

    def inputs(self, chosen: np.ndarray, device: torch.device) -> tuple[Tensor, ...]:
        """The inputs of `Esim` for some pairs."""
        found = (*self.premises.batch(chosen), *self.hypotheses.batch(chosen))
        return tuple(one.to(device) for one in found)


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
            for chosen in _batches(order, self.batch_size)
        ]
        result = torch.empty(len(pairs), found[0].shape[1])
        result[torch.from_numpy(order)] = torch.cat(found)
        return result

    def predict(self, pairs: LabelledPairs) -> np.ndarray:
        """(N,) int64, the number of the likeliest label."""
        return self.logits(pairs).argmax(1).numpy()


def fit_esim(
    train: Pairs,
    dev: Pairs,
    classes: int,
    options: EsimOptions,
    device: str | torch.device = "cpu",
    passed: Callable[[float], object] = lambda accuracy: None,
) -> Trained:
    """Train an `Esim` on ``train``; see `fit_pairs`.

    Args:
        classes: C.
    """

    def network() -> nn.Module:
        return Esim(
            train.premises.width,
            classes,
            projection=options.projection,
            hidden=options.hidden,
            dropout=options.dropout,
        )

    return fit_pairs(network, train, dev, options, device, passed)


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
        best = BestPass(
            made, options.patience, watched=1
        )  # among equal accuracies the more confident one
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
    pools = _batches(order, _POOL * batch_size)
    pools = (pool[np.argsort(sizes[pool], kind="stable")] for pool in pools)
    batches = [batch for pool in pools for batch in _batches(pool, batch_size)]
    return (batches[number] for number in generator.permutation(len(batches)))


def _measure(trained: Trained, dev: LabelledPairs) -> tuple[float, float]:
    """Accuracy and mean log-likelihood on dev; unknown labels are wrong."""
    logits, gold = trained.logits(dev), torch.from_numpy(dev.labels)
    known = gold >= 0
    likelihood = -F.cross_entropy(logits[known], gold[known]) if known.any() else torch.zeros(())
    return float((logits.argmax(1) == gold).float().mean()), float(likelihood)


def _batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (rows[start : start + size] for start in range(0, len(rows), size))
