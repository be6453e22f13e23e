"""Which characters a vocabulary spells: the most frequent ones."""

from collections import Counter

import numpy as np

from fairseq_xling.errors import UserError

# Without `--alphabet`, characters may fill half of the vocabulary, and more only as far as needed
# to leave no more than this share of the text unknown.
_RARE_SHARE = 0.0005


def choose_alphabet(
    counts: Counter[str], limit: int | None, size: int, name: str, marks: int = 0
) -> tuple[list[str], list[str]]:
    """The characters that are kept and those that are not, each most frequent first.

    Args:
        counts: of the text's characters.
        limit: maximum number; None is half of ``size``, or more where fewer would leave over 0.05 %
            of the text unknown.
        size: pieces of the vocabulary.
        name: of the vocabulary, for the message.
        marks: how many of the ``limit`` are other signs, such as a word mark.

    Raises:
        UserError: if ``size`` is smaller than the alphabet.
    """
    ranked = sorted(counts, key=lambda c: (-counts[c], c))
    if limit is None:
        covered = np.cumsum([counts[c] for c in ranked])
        needed = int(np.searchsorted(covered, (1 - _RARE_SHARE) * covered[-1:].sum())) + 1 + marks
        limit = max(size // 2, min(needed, size * 9 // 10), 2)
    kept, rare = ranked[: limit - marks], ranked[limit - marks :]
    check_room(len(kept) + marks, size, name)
    return kept, rare


def check_room(characters: int, size: int, name: str) -> None:
    """Raise a UserError if ``size`` pieces cannot spell that many characters."""
    if characters > size:
        raise UserError(
            f"`--vocab-size` must be at least the alphabet of {name} ({characters} "
            f"characters), got {size}; raise it, or lower `--alphabet`"
        )
