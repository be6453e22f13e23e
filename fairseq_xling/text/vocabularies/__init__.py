"""Vocabulary modes: how the pieces of several languages become the ids of one model or several.

A mode answers three questions; everything else is the same for all. To add one, add a file.
"""

from collections.abc import Sequence

from fairseq_xling.data.folder import DataFolder
from fairseq_xling.errors import about
from fairseq_xling.registry import Registry


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


modes: Registry[type[VocabularyMode]] = Registry("vocabulary mode", __name__)


def mode_of(folder: DataFolder) -> VocabularyMode:
    """How the languages of a data folder share vocabularies.

    Raises:
        UserError: if its `meta.json` names a way that does not exist.
    """
    with about(folder.path / "meta.json"):
        return modes[folder.meta["vocab"]["mode"]]()
