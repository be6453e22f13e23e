"""The settings of a model of structures and of its training."""

from dataclasses import dataclass

from fairseq_xling.errors import UserError
from fairseq_xling.ranges import (
    BELOW_ONE,
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Range,
    check_fields,
    numbers,
)
from fairseq_xling.seeds import SEEDS

OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True)
class ModelSettings:
    """Kind and sizes.

    Attributes:
        network: a name in `networks`.
        layers, width: of the network.
        embedding: width of a learnt feature.
        hidden: width of the classifier's layers.
        dropout: on the inputs and between the network's layers.
        prune: edges from the path between the mentions; -1 keeps the whole sentence.
        sentence_vector: whether the maximum over all words is part of the classifier's input.
    """

    network: str = "gcn"
    layers: int = numbers(2, NOT_NEGATIVE)
    width: int = numbers(200, COUNT)
    embedding: int = numbers(30, COUNT)
    hidden: int = numbers(200, COUNT)
    dropout: float = numbers(0.5, BELOW_ONE)
    prune: int = numbers(-1, Range(-1))
    sentence_vector: bool = True

    def __post_init__(self) -> None:
        from fairseq_xling.structures.networks import networks

        networks.check(self.network)
        check_fields(type(self), self)


@dataclass(frozen=True)
class FitSettings:
    """Of training.

    Attributes:
        optimizer: sgd or adam; lr: its learning rate, 0 for its default (0.1, 1e-3).
        decay: factor of the learning rate of sgd after an epoch whose F1 on dev is not higher than
            that of the epoch before, from epoch ``decay_from`` + 1.
        batch_size: candidates of a step, at most, of whole sentences.
        clip: maximum gradient norm.
        epochs: at most; training ends after ``patience`` epochs without a higher F1 on dev.
        seed: of weights, order and dropout.
    """

    optimizer: str = "sgd"
    lr: float = numbers(0.0, Range(0, 10))
    decay: float = numbers(0.9, SHARE)
    decay_from: int = numbers(5, NOT_NEGATIVE)
    batch_size: int = numbers(50, COUNT)
    clip: float = numbers(5.0, POSITIVE)
    epochs: int = numbers(200, COUNT)
    patience: int = numbers(20, COUNT)
    seed: int = numbers(1, SEEDS)

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise UserError(
                f"`--optimizer` must be {' or '.join(OPTIMIZERS)}, got {self.optimizer!r}"
            )
        check_fields(type(self), self)

    @property
    def rate(self) -> float:
        """The learning rate that training begins with."""
        return self.lr or {"sgd": 0.1, "adam": 1e-3}[self.optimizer]
