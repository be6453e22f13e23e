"""What a model reads so that the ranges of its states are known before it translates.

An exported model has a vocabulary and no text. Words drawn by their frequency, without regard to
each other, lead to states of nearly the same range as real sentences'.
"""

from collections.abc import Mapping
from typing import Any

import torch
from fairseq.data import Dictionary

from fairseq_xling.data.batch import source_side
from fairseq_xling.data.folder import CLS, SEP, SPECIALS

_SENTENCES, _LENGTHS = 16, (6, 12, 24)  # of each length, without the frame


def calibrate(
    model: Any, dictionary: Dictionary, pair: tuple[str, str], lang_ids: Mapping[str, int]
) -> None:
    """Have a model with a TRILayer read such sentences, and compute its slots' final states;
    nothing if it has no words, or no positions for them.

    Args:
        dictionary: that of the source, with the counts of its words.
        pair: source and target language.
        lang_ids: the number of each language.
    """
    weights = torch.tensor(dictionary.count, dtype=torch.float64).clamp(min=1)
    weights[:SPECIALS] = 0
    generator = torch.Generator().manual_seed(1)
    encoder = model.encoder
    longest = model.max_positions() - 2
    if longest < 1 or not weights.any():
        return
    for length in sorted({min(length, longest) for length in _LENGTHS}):
        drawn = torch.multinomial(weights, _SENTENCES * length, True, generator=generator)
        ends = torch.tensor([[CLS, SEP]]).expand(_SENTENCES, 2)
        tokens = torch.cat([ends[:, :1], drawn.view(_SENTENCES, length), ends[:, 1:]], 1)
        lengths = torch.full((_SENTENCES,), length + 2)
        src = source_side(tokens, lengths, lang_ids[pair[0]])
        middle = encoder.lower(src, pair)[-1]
        langs = torch.full_like(lengths, lang_ids[pair[1]])
        placed = model.emission.place(lengths, None, langs)
        side = encoder.target_side(src, placed.tgt, placed.order)
        encoder.upper(middle, side, placed.order, pair)
