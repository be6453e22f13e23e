"""How pieces become a dictionary that fairseq reads, and the ids of pieces in it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.data.dictionary import OWN_SYMBOLS, SPECIAL_SYMBOLS
from fairseq_xling.data.folder import SPECIALS, UNK
from fairseq_xling.files import atomic_write
from fairseq_xling.text.vocabularies import VocabularyMode


def collect_symbols(
    mode: VocabularyMode,
    pieces: Mapping[str, Sequence[str]],
    counts: Mapping[str, Sequence[int]],
) -> dict[str, dict[str, int]]:
    """Symbols with their counts, in the order of their ids (the first is id 6), by dictionary name.

    ``pieces[lang]`` are the pieces of the model of ``lang``, its unknown piece first, and
    ``counts[lang]`` how often each occurs. A piece spelt like a special token is left out (it
    encodes to ``<unk>``): fairseq would not load a dictionary that has it twice.
    """
    dictionaries: dict[str, dict[str, int]] = {}
    for lang, symbols in pieces.items():
        dictionary = dictionaries.setdefault(mode.dictionary_name(lang), {})
        for piece, count in zip(symbols[1:], counts[lang][1:], strict=True):
            name = mode.symbol(lang, piece)
            if name not in SPECIAL_SYMBOLS:
                dictionary[name] = dictionary.get(name, 0) + int(count)
    return dictionaries


def write_dictionary(path: str | Path, symbols: Mapping[str, int]) -> None:
    """Write ``symbols`` and their counts below our own two special symbols."""
    with atomic_write(path, "w") as file:
        for name in OWN_SYMBOLS:
            file.write(f"{name} 1\n")
        for name, count in symbols.items():
            file.write(f"{name} {count}\n")


def id_table(
    mode: VocabularyMode, lang: str, pieces: Sequence[str], symbols: Sequence[str]
) -> np.ndarray:
    """Dictionary id of every piece of ``lang`` (len(pieces),) int64, ``<unk>`` for one without."""
    ids = {symbol: i for i, symbol in enumerate(symbols) if i >= SPECIALS}
    found = [ids.get(mode.symbol(lang, piece), UNK) for piece in pieces]
    return np.array([UNK, *found[1:]], dtype=np.int64)
