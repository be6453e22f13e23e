"""WSC of CLUE: does a pronoun refer to a noun phrase? One JSON object per line.

    {"text": TEXT, "label": "true", "target": {"span1_text": NOUNS, "span1_index": NUMBER,
                                               "span2_text": PRONOUN, "span2_index": NUMBER}}

An index counts characters from 0. The text is read with the first span between ``_`` and ``_`` and
the second between ``[`` and ``]``, so that a head for single texts can identify them.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.json_fields import check_columns, get_value
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.json_lines import JsonLines, ObjectItem

_MARKS = {"span1": ("_", "_"), "span2": ("[", "]")}


@formats.register("clue_wsc")
class ClueWsc(JsonLines):
    """See the module's docstring."""

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[ObjectItem]:
        """See `Format`."""
        check_columns(list(columns), "WSC")
        for item in JsonLines.read(path, {}):
            with one_row():
                text = _marked(item.place, item.texts[0], item.given)
                yield dataclasses.replace(item, texts=(text,))


def _marked(where: str, text: str, given: Mapping[str, Any]) -> str:
    """The text with marks around both spans."""
    target, places = get_value(where, given, "target", dict), []
    for name, (before, after) in _MARKS.items():
        span = get_value(where, target, f"{name}_text", str)
        begin = get_value(where, target, f"{name}_index", int)
        end = begin + len(span)
        if begin < 0 or text[begin:end] != span:
            raise UserError(
                f"{where}: `{name}_text` must be the text at `{name}_index`, got {shown(span)} at "
                f"{begin}, where the text has {shown(text[max(begin, 0) : max(end, 0)])}"
            )
        places.append((begin, end, before, after))
    for begin, end, before, after in sorted(places, reverse=True):
        text = f"{text[:begin]} {before} {text[begin:end]} {after} {text[end:]}"
    return text
