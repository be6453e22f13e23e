"""Language codes and language pairs in options and file names."""

import re
from collections.abc import Sequence

from fairseq_xling.core.errors import UserError

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# The only attribute that torch sets on a module that holds the languages' parts by their codes.
_RESERVED = frozenset({"training"})


def parse_languages(text: str, option: str = "--languages") -> list[str]:
    """Codes of a comma-separated list, in the order given; that order numbers the languages.

    Codes are letters, digits and underscores: ``-`` separates a pair and ``.`` a file name.

    >>> parse_languages("en,de,zh_Hans")
    ['en', 'de', 'zh_Hans']
    """
    codes = [code.strip() for code in text.split(",")]
    for code in codes:
        if code in _RESERVED:
            raise UserError(
                f"`{option}`: language code {code!r} in {text!r} is taken: torch's modules use it"
            )
        if not _CODE.fullmatch(code):
            raise UserError(
                f"`{option}`: language code {code!r} in {text!r} must be letters, digits or '_', "
                "starting with a letter"
            )
        if codes.count(code) > 1:
            raise UserError(f"`{option}`: language {code!r} is named twice in {text!r}")
    return codes


def parse_pair(text: str) -> tuple[str, str]:
    """The two codes of a pair ``src-tgt``.

    >>> parse_pair("en-de")
    ('en', 'de')
    """
    parts = text.split("-")
    if len(parts) != 2 or not all(map(_CODE.fullmatch, parts)):
        raise UserError(f"language pair {text!r} must be two codes joined by '-', as in en-de")
    source, target = parts
    if source == target:
        raise UserError(f"language pair {text!r} names one language twice")
    return source, target


def check_languages(checkpoint: str, known: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise a UserError if the model was not trained on a wanted language."""
    for lang in wanted:
        if lang not in known:
            raise UserError(f"{checkpoint}: trained on {', '.join(known)}, not on {lang!r}")
