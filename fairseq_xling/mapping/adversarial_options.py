"""The options of adversarial maps."""

import dataclasses

from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import BELOW_ONE, COUNT, NOT_NEGATIVE, Range

_SMALL = Range(0, 0.5, below=True)
_FACTOR = Range(0, 1, above=True)


@dataclasses.dataclass(frozen=True)
class AdversarialOptions:
    """Settings of adversarial training; the defaults are those of the released MUSE."""

    epochs: int = option(5, "epochs of adversarial training", range=COUNT)
    epoch_size: int = option(1_000_000, "words per epoch", range=COUNT)
    batch: int = option(32, "words of each side per batch; 128 for small vocabularies", range=COUNT)
    hidden: int = option(
        2048,
        "hidden units of each of the discriminator's two layers; 512 is eight times as fast",
        range=COUNT,
    )
    dropout: float = option(0.1, "dropout on the discriminator's input", range=BELOW_ONE)
    smoothing: float = option(0.1, "smoothing of the labels 0 and 1", range=_SMALL)
    discriminator_steps: int = option(
        5, "updates of the discriminator per update of the map", range=COUNT
    )
    lr: float = option(0.1, "learning rate of both", range=_FACTOR)
    lr_decay: float = option(0.98, "decay of the map's, per epoch", range=_FACTOR)
    lr_shrink: float = option(
        0.5,
        "factor of the map's learning rate when the criterion falls, from the second time on",
        range=_FACTOR,
    )
    beta: float = option(
        0.001, "pull towards orthogonal maps; 0.01 for small vocabularies", range=_SMALL
    )
    most_frequent: int = option(
        75_000,
        "most frequent words of each language that the discriminator sees; 0 = all",
        range=NOT_NEGATIVE,
    )
