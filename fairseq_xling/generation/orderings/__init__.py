"""Orderings: which source position each target position gets its state from, found by name.

A model with a TRILayer predicts all words of a translation at once, and needs their number and the
source position of each beforehand. In training the word alignment provides them; in translation an
ordering does. To add one, put a file here, or in your own folder, with a class registered under
``@orderings.register("name")``.

B sentences, K candidates for each, R = B K, T source length, U target length, D width.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from torch import Tensor

from fairseq_xling.core.registry import Registry

orderings: Registry = Registry("`--ordering`", __name__)


@dataclass(frozen=True)
class Sources:
    """Sentences that have been through the lower half.

    Attributes:
        src: ``tokens``, ``langs`` and ``positions`` (B, T), and ``padding_mask`` where padded.
        lengths: (B,), with ``<s>`` and ``</s>``.
        middles: (B, T + 1, D), the null state last, of each model of the ensemble.
        target_lang: the number of the target language.
        limit: the longest target that the models have positions for.
        given: for an ordering that ``reads_alignments``, ``order`` (B, U), -1 for none and for
            padding, ``tgt_lengths`` (B,), and perhaps ``further`` (B, U, K).
    """

    src: Mapping[str, Tensor]
    lengths: Tensor
    middles: Sequence[Tensor]
    target_lang: int
    limit: int
    given: Mapping[str, Tensor]


class Candidates(NamedTuple):
    """K candidates for each sentence; row b K + k is candidate k of sentence b.

    Attributes:
        lengths: (R,) target lengths, with ``<s>`` and ``</s>``: at least 2.
        order: (R, U) source positions, -1 for the null state and for padding; ``None`` is the
            identity (then K = 1, and ``lengths`` are the sources').
        log_scores: (R,) log-probabilities that the ordering assigns to its candidates; ``None``
            if it has none.
        further: (R, U, K) positions whose states are averaged with that of ``order``, -1 for none;
            ``None`` if there are none.
    """

    lengths: Tensor
    order: Tensor | None = None
    log_scores: Tensor | None = None
    further: Tensor | None = None


class Ordering:
    """Base class of the orderings.

    Args:
        cfg: the task's options.
        models: the ensemble.

    Raises:
        UserError: if the models lack what the ordering needs.
    """

    reads_alignments: ClassVar[bool] = False  # whether it needs those of the data folder
    candidates: int = 1  # K

    def __init__(self, cfg: Any, models: Sequence[Any]):
        self.cfg, self.models = cfg, models

    @abstractmethod
    def __call__(self, sources: Sources) -> Candidates:
        """The candidates for a batch; ``models`` and ``sources.middles`` are in the same order."""
