"""BERT's corruption of a sentence (Devlin et al., 2019, Section 3.1), shared by MLM and TLM."""

import numpy as np

from fairseq_xling.data.folder import MASK, SPECIALS


def choose(tokens: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """C: ``share`` of the non-special positions of ``tokens`` (n,), as a boolean mask (n,).

    The number is ``share`` x candidates, rounded up or down at random so that it is right on
    average however short the sentence is.
    """
    candidates = (tokens >= SPECIALS).nonzero()[0]  # `flatnonzero` takes six times as long
    chosen = np.zeros(len(tokens), dtype=bool)
    chosen[draw_places(candidates, share, rng)] = True
    return chosen


def draw_places(candidates: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """The chosen ones of ``candidates`` (n,), which are shuffled."""
    count = int(share * len(candidates) + rng.random())
    rng.shuffle(candidates)
    return candidates[:count]


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
    drawn = draw_ids(np.count_nonzero(chosen), replacements, random, rng)
    return replace(tokens, chosen, *drawn, leave, random)


_NONE = np.empty(0, dtype=np.int64)


def draw_ids(
    count: int, replacements: np.ndarray | int, random: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """``count`` numbers in [0, 1), one a chosen position, and ids for those below ``random``."""
    draw = rng.random(count)
    swapped = np.count_nonzero(draw < random)
    if not swapped:
        return draw, _NONE
    if isinstance(replacements, np.ndarray):
        return draw, rng.choice(replacements, swapped)
    return draw, rng.integers(SPECIALS, replacements, swapped)


def replace(
    tokens: np.ndarray,
    chosen: np.ndarray,
    draw: np.ndarray,
    ids: np.ndarray,
    leave: float,
    random: float,
) -> np.ndarray:
    """S, by what `draw_ids` gave for the ``chosen`` (n,) of ``tokens`` (n,)."""
    replaced, where = tokens.copy(), chosen.nonzero()[0]
    replaced[where[draw >= leave + random]] = MASK
    replaced[where[draw < random]] = ids
    return replaced
