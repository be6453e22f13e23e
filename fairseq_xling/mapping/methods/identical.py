"""From the strings that both vocabularies share: names, numbers, words of the source language.

Conneau et al. 2018, "Word Translation Without Parallel Data", use identical strings instead of a
dictionary; a vocabulary learnt on both languages shares many.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairseq_xling.errors import UserError
from fairseq_xling.mapping.methods import METHODS, Fit, Surroundings
from fairseq_xling.ranges import COUNT, Number

if TYPE_CHECKING:
    from fairseq_xling.mapping.space import Space


@METHODS.register("identical")
class Identical:
    """Procrustes on the pairs of identically spelt words, except those held out for evaluation."""

    help = "from identically spelt words (Procrustes)"
    normalize = "unit,centre,unit"
    seeded = False
    from_shared_words = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--min-letters",
            type=Number(int, COUNT),
            default=1,
            metavar="N",
            help="leave out shared words of fewer characters (not counting the word mark)",
        )

    def settings(self, args: argparse.Namespace) -> dict[str, Any]:
        return {"min_letters": args.min_letters}

    def steps(self, args: argparse.Namespace) -> int:
        return 1

    def fit(
        self, moving: Space, fixed: Space, args: argparse.Namespace, around: Surroundings
    ) -> Fit:
        from fairseq_xling.mapping.evidence import shared_words, split_shared
        from fairseq_xling.mapping.procrustes import procrustes

        for side, option in ((moving, "--vectors"), (fixed, "--source-vectors")):
            if side.symbols is None:
                raise UserError(f"`{option}` has no symbols, so no word is known to be shared")
        pairs = split_shared(shared_words(moving, fixed))[0]
        kept = [
            row
            for row, (place, _) in enumerate(pairs.tolist())
            if len(moving.symbols[place].removeprefix("▁")) >= args.min_letters
        ]
        if not kept:
            raise UserError("the two vocabularies share no words that occur in both texts")
        pairs = pairs[kept]
        w = procrustes(moving.vectors[pairs[:, 0]], fixed.vectors[pairs[:, 1]])
        around.show(1)
        return Fit(w, [{"pairs": len(pairs)}])
