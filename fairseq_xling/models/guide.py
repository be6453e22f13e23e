"""What a search over slots adds to the score of what they write, by a model of the target language.

R rows, B prefixes of a row, C words.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from fairseq_xling.models.ngram import Ngram


class Led(NamedTuple):
    """Where the prefixes of a search are: ``score`` (R, B), what the guide has added so far, and
    ``before`` (R, B, ...), what the next word's probability depends on."""

    score: Tensor
    before: Tensor


@dataclass(frozen=True)
class Guide:
    """Adds ``weight`` x log p(translation) by ``model``, in nats, and ``bonus`` for each word.

    A language model alone prefers short translations, because each word costs something. The
    defaults are near the best for four target languages (`benchmarks/README.md`).
    """

    model: Ngram
    weight: float = 0.4
    bonus: float = 1.5

    def start(self, rows: int, beam: int, device: torch.device) -> Led:
        """Of prefixes without words."""
        before = self.model.to(device).start(rows, beam)
        return Led(before.new_zeros(rows, beam, dtype=torch.float), before)

    def further(self, led: Led, words: Tensor) -> Tensor:
        """(R, B, C) the scores of the prefixes with one of words (R, C) more."""
        added = self.weight * self.model.score(led.before, words) + self.bonus
        return led.score[..., None] + added

    def after(self, led: Led, parent: Tensor, grows: Tensor, word: Tensor, score: Tensor) -> Led:
        """Of prefixes that come from those with the numbers ``parent`` (R, B), and where ``grows``
        have another ``word`` and the ``score`` of `further`."""
        own = parent[..., None].expand_as(led.before)
        before = led.before.gather(1, own)
        longer = self.model.extended(before, word.clamp(min=0))
        return Led(
            torch.where(grows, score, led.score.gather(1, parent)),
            torch.where(grows[..., None], longer, before),
        )

    def whole(self, led: Led) -> Tensor:
        """(R, B) the scores if the translations end here."""
        return led.score + self.weight * self.model.stop(led.before)

    @property
    def most(self) -> float:
        """The most that a further word can add."""
        return max(0.0, self.bonus)
