"""The texts that `fairseq-xling clcr run` encodes, and the rows that are written for each."""

import dataclasses
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.files import check_files


@dataclasses.dataclass(frozen=True)
class Text:
    """A text to encode: its name, language and file, and the file of its translation."""

    name: str
    lang: str
    file: str
    translation: str = ""


def texts(config: Any, pair: tuple[str, str]) -> list[Text]:
    """All texts to encode.

    Raises:
        UserError: for another form, another language, a missing file, or a name used twice.
    """
    found = []
    for item in config.encode_pairs:
        name, _, files = item.partition("=")
        both = files.split(",")
        if not name or len(both) != 2 or not all(both):
            raise UserError(f"`--encode-pairs` must look like NAME=FILE_A,FILE_B, got {item!r}")
        found += [Text(name, pair[0], *both), Text(name, pair[1], *both[::-1])]
    for item in config.encode_text:
        place, _, file = item.partition("=")
        name, _, lang = place.rpartition(".")
        if not (name and lang and file):
            raise UserError(f"`--encode-text` must look like NAME.LANG=FILE, got {item!r}")
        if lang not in pair:
            raise UserError(f"`--encode-text` must be of {' or '.join(pair)}, got {item!r}")
        found.append(Text(name, lang, file))
    for text in found:
        if Path(text.name).name != text.name or text.name == "..":
            raise UserError(
                f"the name of a text to encode must be one that a folder can have, got "
                f"{text.name!r}"
            )
        check_files(text.file)
        if sum((other.name, other.lang) == (text.name, text.lang) for other in found) > 1:
            raise UserError(f"two texts to encode are called {text.name}.{text.lang}")
    return found


def rows_of(config: Any, text: Text) -> list[str]:
    """The rows that can be written for a text: those that need a translation only if it has one."""
    from fairseq_xling.clcr.rows import rows

    return [r for r in config.row_list if text.translation or not rows[r].reads_translation]
