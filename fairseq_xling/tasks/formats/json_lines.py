"""One JSON object per line: one or two texts and a label, under keys of any name.

`--columns` names the keys, as in ``text=sentence1,pair=sentence2,label=label`` (AFQMC and CMNLI of
CLUE); without it they are ``text`` and ``label``. A list of texts is read as one, with blanks
between them. A label is a text or a whole number; null, ``-`` (annotators did not agree, as in
SNLI) or a missing key mean no label. Other keys are kept.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.json_fields import check_kind, get_value, parse_json
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, formats
from fairseq_xling.tasks.formats.tsv import FIELDS, UNDECIDED, TextItem

_USUAL = {"text": "text", "label": "label"}


@dataclass(frozen=True)
class ObjectItem(TextItem):
    """A text or a pair of texts from an object; ``given`` is the raw object."""

    given: Mapping[str, Any] | None = None


@formats.register("json_lines")
class JsonLines(Format):
    """See the module's docstring."""

    suffix = ".jsonl"
    holds = ObjectItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[ObjectItem]:
        """See `Format`. Every line contains an object; none is blank."""
        keys = keys_of(columns)
        line = 0
        for line, text in enumerate(read_lines(path), start=1):
            with one_row():
                where, given = f"{path}:{line}", parse_json(path, text, line)
                texts = tuple(_text(where, given, keys[f]) for f in ("text", "pair") if f in keys)
                label = label_of(where, given.get(keys["label"]), keys["label"])
                yield ObjectItem(str(path), line, texts, label, (), None, None, given)
        if not line:
            raise UserError(f"{path}: contains no objects")

    @staticmethod
    def write(
        path: Path,
        items: Sequence[ObjectItem],
        predictions: Sequence[str],
        columns: Mapping[str, str],
    ) -> None:
        """See `Format`: the same objects, with the predicted label, a number where it was one."""
        key = keys_of(columns)["label"]
        with atomic_write(path, "w") as file:
            for item, prediction in zip(items, predictions, strict=True):
                number = isinstance(item.given.get(key), int)
                label = int(prediction) if number and prediction.isdigit() else prediction
                # (Not json.dump, which does not write all that is as deep as json.loads reads.)
                file.write(json.dumps({**item.given, key: label}, ensure_ascii=False) + "\n")


def keys_of(columns: Mapping[str, str]) -> dict[str, str]:
    """The key of each field, by `--columns`.

    Raises:
        UserError: for an unknown field, or a key that is named twice.
    """
    for field in columns:
        if field not in FIELDS:
            raise UserError(f"`--columns` must name {', '.join(FIELDS)}, got {field!r}")
    keys = {**_USUAL, **columns}
    for field, key in keys.items():
        if list(keys.values()).count(key) > 1:
            raise UserError(
                f"`--columns` must give each of {', '.join(keys)} its own key, got {key!r} "
                f"for `{field}` and another"
            )
    return keys


def _text(where: str, given: Any, key: str) -> str:
    parts = given.get(key) if isinstance(given, dict) else None
    if not isinstance(parts, list):
        return get_value(where, given, key, str)
    if not parts:
        raise UserError(f"{where}: `{key}` is empty")
    return " ".join(check_kind(where, part, f"each of `{key}`", str) for part in parts)


def label_of(where: str, label: Any, key: str) -> str | None:
    """A label as text; None if there is none.

    Raises:
        UserError: for an empty one, or one of another type; begins with ``where``.
    """
    if label is None:
        return None
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise UserError(f"{where}: `{key}` must be a text or a whole number, got {shown(label)}")
    name = str(label).strip()
    if not name:
        raise UserError(f"{where}: `{key}` is empty")
    return None if name == UNDECIDED else name
