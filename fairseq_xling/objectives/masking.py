"""BERT's corruption of a sentence (Devlin et al., 2019, Section 3.1), shared by MLM and TLM."""

import numpy as np

from fairseq_xling.data.folder import MASK, SPECIALS


def choose(tokens: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """C: ``share`` of the non-special positions of ``tokens`` (n,), as a boolean mask (n,).

    The number is ``share`` x candidates, rounded up or down at random so that it is right on
    average however short the sentence is.
    """
    candidates = (tokens >= SPECIALS).nonzero()[0]  # `flatnonzero` takes six times as long
    count = int(share * len(candidates) + rng.random())
    chosen = np.zeros(len(tokens), dtype=bool)
    chosen[rng.permutation(candidates)[:count]] = True
    return chosen


def corrupt(
    tokens: np.ndarray,
    chosen: np.ndarray,
    replacements: np.ndarray | int,
    rng: np.random.Generator,
    *,
    leave: float = 0.1,
    random: float = 0.1,
) -> np.ndarray:
    """S: ``tokens`` (n,) with the ``chosen`` (n,) masked.

    Of the chosen, a share ``random`` becomes a random id, ``leave`` stays unchanged, and the rest
    becomes ``<mask>``.

    Args:
        replacements: the ids to draw random ones from, or the vocabulary's size for all of it
            (specials are never drawn).
    """
    corrupted = tokens.copy()
    where = chosen.nonzero()[0]
    draw = rng.random(len(where))
    masked = where[draw >= leave + random]
    swapped = where[draw < random]
    corrupted[masked] = MASK
    if len(swapped):
        if isinstance(replacements, np.ndarray):
            corrupted[swapped] = rng.choice(replacements, len(swapped))
        else:
            corrupted[swapped] = rng.integers(SPECIALS, replacements, len(swapped))
    return corrupted
