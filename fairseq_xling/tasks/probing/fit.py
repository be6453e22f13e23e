"""A probe on frozen vectors: its network, training, predictions and scores.

Tenney et al. 2019, "What do you learn from context?", section 3.1: of each span, its vectors are
projected and pooled by its own attention; the pooled spans are concatenated and classified,
each label by a sigmoid. With several layers, their mixture is learnt (Peters et al. 2018, Eq. 1):

    e_i = gamma sum_l softmax(s)_l h_i^l,   z_i = A e_i + b,   r = sum_i softmax(w z)_i z_i

N examples, B of them in a batch, M vectors of a span, L layers, D width, P projected width, S
spans, C labels. Scores are micro precision, recall and F1 over all examples and labels together.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.analysis.best_pass import BestPass
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import SEEDS, check_fields, numbers
from fairseq_xling.core.registry import Registry
from fairseq_xling.tasks.esim import batches
from fairseq_xling.tasks.probing.examples import FitOptions
from fairseq_xling.tasks.probing.states import Spans, label_matrix, label_names


@dataclass(frozen=True)
class Scores:
    """Figures in [0, 1] with their counts; 0/0 is 0.

    Attributes:
        right: predicted labels that are gold; predicted, gold: all of each.
    """

    right: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """``2 right / (predicted + gold)``, the harmonic mean of precision and recall."""
        total = self.predicted + self.gold
        return 2 * self.right / total if total else 0.0

    def values(self) -> dict[str, float]:
        """All of it, for a file of results."""
        names = ("precision", "recall", "f1", "right", "predicted", "gold")
        return {name: getattr(self, name) for name in names}


def micro_scores(predicted: Sequence[Sequence[str]], gold: Sequence[Sequence[str]]) -> Scores:
    """The scores of N predictions; gold labels that were not predicted are missed.

    >>> found = micro_scores([["a", "b"], [], ["a"]], [["a"], ["c"], ["a"]])
    >>> found.right, found.predicted, found.gold, round(found.f1, 3)
    (2, 3, 3, 0.667)
    """
    pairs = list(zip(predicted, gold, strict=True))
    right = sum(len({*ours} & {*theirs}) for ours, theirs in pairs)
    return Scores(right, sum(len(x) for x, _ in pairs), sum(len(x) for _, x in pairs))


def prior(labels: Sequence[Sequence[str]]) -> str:
    """The most frequent label, the majority-class baseline; of equally frequent ones the first by
    name.

    >>> prior([["b"], ["a"], ["b", "a"]])
    'a'
    """
    counts = Counter(label for some in labels for label in some)
    return min(counts, key=lambda label: (-counts[label], label))


classifiers: Registry[Callable[..., nn.Module]] = Registry("`--classifier`")


@classifiers.register("linear")
def linear(width: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    """(B, width) to (B, C), linearly."""
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, labels))


@classifiers.register("mlp")
def mlp(width: int, hidden: int, labels: int, dropout: float) -> nn.Module:
    """(B, width) to (B, C) through a layer of ``hidden`` units."""
    return nn.Sequential(
        nn.Linear(width, hidden),
        nn.Tanh(),
        nn.LayerNorm(hidden),
        nn.Dropout(dropout),
        nn.Linear(hidden, labels),
    )


class EdgeProbe(nn.Module):
    """See the module's docstring.

    Args:
        layers: L; width: D; spans: S; labels: C.
        projection: P.
        classifier: a name of `classifiers`, with its ``hidden`` units.
        dropout: on the classifier's input.
    """

    def __init__(
        self,
        layers: int,
        width: int,
        spans: int,
        labels: int,
        projection: int = 256,
        classifier: str = "mlp",
        hidden: int = 256,
        dropout: float = 0.3,
    ):
        super().__init__()
        self.mix = nn.Parameter(torch.zeros(layers)) if layers > 1 else None
        self.scale = nn.Parameter(torch.ones(())) if layers > 1 else None
        self.project = nn.ModuleList(nn.Linear(width, projection) for _ in range(spans))
        self.attend = nn.ModuleList(nn.Linear(projection, 1, bias=False) for _ in range(spans))
        self.classify = classifiers[classifier](spans * projection, hidden, labels, dropout)

    def forward(self, spans: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """Logits (B, C), natural-log odds of each label.

        Args:
            spans: S of vectors (B, M, L, D) and a mask (B, M) of the real ones, at least one in
                each row; the others have no influence.
        """
        pooled = []
        for project, attend, (x, inside) in zip(self.project, self.attend, spans, strict=True):
            z = project(self._mixed(x.masked_fill(~inside[..., None, None], 0.0)))
            weights = attend(z)[..., 0].masked_fill(~inside, -torch.inf).softmax(-1)
            pooled.append((weights[..., None] * z).sum(1))
        return self.classify(torch.cat(pooled, dim=-1))

    def weights(self) -> list[float] | None:
        """softmax(s), the share of each layer, if there are several."""
        return None if self.mix is None else self.mix.softmax(0).tolist()

    def _mixed(self, x: Tensor) -> Tensor:
        if self.mix is None or self.scale is None:
            return x[:, :, 0]
        return self.scale * torch.einsum("bmld,l->bmd", x, self.mix.softmax(0))


@dataclass(frozen=True)
class ProbeOptions(FitOptions):
    """Settings of a probe and its training, and the ``seed`` of weights, order and dropout.

    Training ends after ``patience`` passes without a better F1 or loss on dev, and the pass with
    the best F1 is used.
    """

    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        classifiers.check(self.classifier)
        check_fields(type(self), self)


@dataclass
class Probe:
    """A trained probe.

    Attributes:
        network: with the weights of the best pass.
        names: its labels (C,).
        epoch: the best pass, from 1; curve: F1 on dev after each.
    """

    network: EdgeProbe
    names: list[str]
    batch_size: int
    device: torch.device
    epoch: int = 0
    curve: list[float] = field(default_factory=list)

    @torch.no_grad()
    def logits(self, spans: Spans) -> Tensor:
        """(N, C) natural-log odds on the CPU; -inf for an example without vectors."""
        self.network.eval()
        found = torch.full((len(spans), len(self.names)), -torch.inf)
        for chosen in batches(np.flatnonzero(spans.usable), self.batch_size):
            inputs = [(x.to(self.device), m.to(self.device)) for x, m in spans.gather(chosen)]
            found[torch.from_numpy(chosen)] = self.network(inputs).float().cpu()
        return found

    def predict(self, spans: Spans) -> list[list[str]]:
        """The labels of each example with a probability above one half, possibly none."""
        return self.names_of(self.logits(spans))

    def names_of(self, logits: Tensor) -> list[list[str]]:
        """The labels above one half by `logits`."""
        found: list[list[str]] = [[] for _ in range(len(logits))]
        for row, column in (logits > 0).nonzero().tolist():
            found[row].append(self.names[column])
        return found


def fit_probe(
    train: Spans,
    dev: Spans,
    options: ProbeOptions,
    device: str | torch.device = "cpu",
    passed: Callable[[float], object] = lambda f1: None,
) -> Probe:
    """Train a probe on ``train``, with early stopping on ``dev``.

    The result depends only on the spans and options, and does not use torch's global generator.

    Args:
        passed: called after each pass with the F1 on dev.
    """
    names = _check(train, dev)
    usable = np.flatnonzero(train.usable)
    gold = torch.from_numpy(label_matrix(train.labels or [], names)).float()
    device = torch.device(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(options.seed)
        network = EdgeProbe(
            len(train.layers),
            train.width,
            train.places.shape[1],
            len(names),
            options.projection,
            options.classifier,
            options.hidden,
            options.dropout,
        ).to(device)
        probe = Probe(network, names, options.batch_size, device)
        optimizer = torch.optim.Adam(network.parameters(), lr=options.lr)
        # While no label is likely yet, F1 stays 0; the loss shows that training still progresses.
        best = BestPass(network, options.patience, watched=2)
        for _ in range(options.epochs):
            network.train()
            order = usable[torch.randperm(len(usable)).numpy()]
            for chosen in batches(order, options.batch_size):
                inputs = [(x.to(device), m.to(device)) for x, m in train.gather(chosen)]
                target = gold[torch.from_numpy(chosen)].to(device)
                loss = F.binary_cross_entropy_with_logits(
                    network(inputs), target, reduction="sum"
                ) / len(chosen)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            f1, dev_loss = _measure(probe, dev)
            probe.curve.append(f1)
            passed(f1)
            if best.ends(f1, -dev_loss):
                break
        best.restore()
        probe.epoch = best.epoch
    return probe


def _measure(probe: Probe, dev: Spans) -> tuple[float, float]:
    """F1 and loss of each example on dev."""
    logits, labels = probe.logits(dev), dev.labels or []
    usable = torch.from_numpy(dev.usable)
    gold = torch.from_numpy(label_matrix(labels, probe.names)).float()
    loss = F.binary_cross_entropy_with_logits(logits[usable], gold[usable], reduction="sum")
    f1 = micro_scores(probe.names_of(logits), labels).f1
    return f1, float(loss) / max(1, int(usable.sum()))


def _check(train: Spans, dev: Spans) -> list[str]:
    """The labels of the training examples; see `fit_probe`."""
    if train.labels is None or dev.labels is None:
        raise UserError("a probe needs training and dev examples with labels, got some without")
    if train.places.shape[1] != dev.places.shape[1]:
        raise UserError(
            f"training and dev examples must have equally many spans, got {train.places.shape[1]} "
            f"and {dev.places.shape[1]}"
        )
    if (len(train.layers), train.width) != (len(dev.layers), dev.width):
        raise UserError("training and dev vectors must have the same layers and width")
    trained = [labels for labels, use in zip(train.labels, train.usable, strict=True) if use]
    names = label_names(trained)
    if not names:
        raise UserError("a probe needs at least 1 labelled example with vectors, got 0")
    return names
