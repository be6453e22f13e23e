"""Rows of words between ``<s>`` and ``</s>``, as sources give them to objectives."""

from collections.abc import Sequence

import numpy as np

from fairseq_xling.data.folder import CLS, SEP
from fairseq_xling.data.sources import Row, Side


def side(words: Sequence[int], lang: str = "en") -> Side:
    """A framed sentence."""
    return Side(np.array([CLS, *words, SEP]), lang)


def mono(words: Sequence[int], lang: str = "en") -> Row:
    """A row of monolingual text."""
    return Row(side(words, lang))


def pair(
    source: Sequence[int],
    target: Sequence[int],
    order: Sequence[int] | None = None,
    langs: tuple[str, str] = ("en", "de"),
) -> Row:
    """A sentence and its translation; ``order`` is of all target tokens, the frame's too."""
    order = None if order is None else np.array(order)
    assert order is None or len(order) == len(target) + 2
    return Row(side(source, langs[0]), side(target, langs[1]), order)
