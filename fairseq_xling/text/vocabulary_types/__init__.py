"""Types of vocabularies (`--vocab-type`): how pieces are learnt from text, and kept in a file.

To add a type, add a file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairseq_xling.registry import Registry


def _same(name: str) -> str:
    return name


def _always() -> None:
    return None


@dataclass(frozen=True)
class VocabularyType:
    """One type.

    Attributes:
        learn: ``learn(lines, size, alphabet, name)`` returns the content of a file that
            `text.tokenizers.pieces.load_pieces` reads, with at most ``size`` pieces and, if it is
            not None, ``alphabet`` different characters; ``name`` is for messages.
        whole_words: the pieces are the words of the text, and no word is split.
        file: that file's name, from the name of the mode's sentencepiece model.
        check: raises a UserError if what it needs is not installed.
    """

    learn: Callable[[Sequence[str], int, int | None, str], bytes]
    whole_words: bool = False
    file: Callable[[str], str] = _same
    check: Callable[[], None] = _always


vocabulary_types: Registry[VocabularyType] = Registry("vocabulary type", __name__)
