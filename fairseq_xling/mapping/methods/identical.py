"""From the strings that both vocabularies share: names, numbers, words of the source language.

Conneau et al. 2018, "Word Translation Without Parallel Data", use identical strings instead of a
dictionary; a vocabulary learnt on both languages shares many.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import COUNT
from fairseq_xling.mapping.methods import METHODS, Fit, Surroundings

if TYPE_CHECKING:
    from fairseq_xling.mapping.space import Space


@dataclasses.dataclass(frozen=True)
class IdenticalOptions:
    """Which words count as shared."""

    min_letters: int = option(
        1, "leave out shared words of fewer characters (not counting the word mark)", range=COUNT
    )


@METHODS.register("identical")
class Identical:
    """Procrustes on the pairs of identically spelt words, except those held out for evaluation."""

    help = "from identically spelt words (Procrustes)"
    normalize = "unit,centre,unit"
    seeded = False
    from_shared_words = True

    options = IdenticalOptions

    def steps(self, options: IdenticalOptions) -> int:
        return 1

    def fit(
        self, moving: Space, fixed: Space, options: IdenticalOptions, around: Surroundings
    ) -> Fit:
        from fairseq_xling.mapping.evidence import shared_words, split_shared
        from fairseq_xling.mapping.procrustes import procrustes

        for side, name in ((moving, "--vectors"), (fixed, "--source-vectors")):
            if side.symbols is None:
                raise UserError(f"`{name}` has no symbols, so no word is known to be shared")
        pairs = split_shared(shared_words(moving, fixed))[0]
        kept = [
            row
            for row, (place, _) in enumerate(pairs.tolist())
            if len(moving.symbols[place].removeprefix("▁")) >= options.min_letters
        ]
        if not kept:
            raise UserError("the two vocabularies share no words that occur in both texts")
        pairs = pairs[kept]
        w = procrustes(moving.vectors[pairs[:, 0]], fixed.vectors[pairs[:, 1]])
        around.show(1)
        return Fit(w, [{"pairs": len(pairs)}])
