"""Vocabulary modes: how the pieces of several languages become the ids of one model or several.

A mode answers three questions; everything else is the same for all. fairseq reads the dictionaries.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import about
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.registry import Registry
from fairseq_xling.data.folder import OWN_SYMBOLS, SPECIAL_SYMBOLS, SPECIALS, UNK, DataFolder


class VocabularyMode:
    """Defaults: one piece model per language, one dictionary for all, symbols as they are."""

    def model_name(self, lang: str) -> str:
        """File of the sentencepiece model that cuts ``lang``; languages that share it learn it
        together."""
        return f"sentencepiece.{lang}.model"

    def dictionary_name(self, lang: str) -> str:
        """File of the dictionary that numbers the symbols of ``lang``."""
        return "dict.txt"

    def shares_ids(self, languages: Sequence[str]) -> bool:
        """Whether one dictionary numbers all ``languages``."""
        return len({self.dictionary_name(lang) for lang in languages}) == 1

    def symbol(self, lang: str, piece: str) -> str:
        """The name of ``piece`` of ``lang`` in the dictionary; equal names share an id."""
        return piece

    def piece(self, symbol: str) -> str:
        """The piece of a dictionary symbol."""
        return symbol

    def groups(self, languages: Sequence[str]) -> dict[str, list[str]]:
        """Languages by the piece model they share, in the order given."""
        groups: dict[str, list[str]] = {}
        for lang in languages:
            groups.setdefault(self.model_name(lang), []).append(lang)
        return groups


modes: Registry[type[VocabularyMode]] = Registry("vocabulary mode")


def mode_of(folder: DataFolder) -> VocabularyMode:
    """How the languages of a data folder share vocabularies."""
    with about(folder.path / "meta.json"):
        return modes[folder.meta["vocab"]["mode"]]()


@modes.register("joint")
class Joint(VocabularyMode):
    def model_name(self, lang: str) -> str:
        return "sentencepiece.model"


@modes.register("union")
class Union(VocabularyMode):
    pass


@modes.register("prefixed")
class Prefixed(VocabularyMode):
    def symbol(self, lang: str, piece: str) -> str:
        return f"{lang}:{piece}"

    def piece(self, symbol: str) -> str:
        # Language codes contain no colon, so the first one ends the prefix.
        return symbol.split(":", 1)[1]


@modes.register("separate")
class Separate(VocabularyMode):
    def dictionary_name(self, lang: str) -> str:
        return f"dict.{lang}.txt"


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
