"""One JSON object per line: a question and candidate answers, optionally about a text.

    {"question": TEXT, "context": TEXT, "choices": [TEXT, TEXT], "label": NUMBER}

``label`` counts the choices from 0; it is null, or left out, if the answer is unknown. Other keys
are kept. C3 and ChID have their own formats, ``c3`` and ``chid``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.json_fields import check_columns, check_kind, get_value, parse_json
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, formats
from fairseq_xling.tasks.items import Item


@dataclass(frozen=True)
class ChoiceItem(Item):
    """A question; ``label`` is the number of the correct choice, or None.

    Attributes:
        row: the whole raw object.
    """

    question: str
    choices: tuple[str, ...]
    context: str | None
    label: int | None
    row: Mapping[str, Any]


@formats.register("choices")
class Choices(Format):
    """See the module's docstring."""

    suffix = ".jsonl"
    holds = ChoiceItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[ChoiceItem]:
        """See `Format`. Every line contains a question; none is blank."""
        check_columns(list(columns), "multiple-choice")
        line = 0
        for line, text in enumerate(read_lines(path), start=1):
            with one_row():
                yield _item(path, line, parse_json(path, text, line))
        if not line:
            raise UserError(f"{path}: contains no questions")

    @staticmethod
    def write(
        path: Path, items: Sequence[ChoiceItem], predictions: Sequence[int], columns: Mapping
    ) -> None:
        """See `Format`: the same objects, with the predicted label."""
        with atomic_write(path, "w") as file:
            for item, prediction in zip(items, predictions, strict=True):
                # (Not json.dump, which does not write all that is as deep as json.loads reads.)
                file.write(json.dumps({**item.row, "label": prediction}, ensure_ascii=False) + "\n")


def _item(path: Path, line: int, row: Any) -> ChoiceItem:
    where = f"{path}:{line}"
    question = get_value(where, row, "question", str)
    choices = read_choices(where, row, "choices")
    context, label = row.get("context"), row.get("label")
    if context is not None:
        check_kind(where, context, "`context`", str)
    if label is not None and not 0 <= check_kind(where, label, "`label`", int) < len(choices):
        raise UserError(f"{where}: `label` must lie in [0, {len(choices)}), got {shown(label)}")
    return ChoiceItem(str(path), line, question, choices, context, label, row)


def read_choices(where: str, row: Any, key: str) -> tuple[str, ...]:
    """The choices of a question, a list of texts under that key.

    Raises:
        UserError: for fewer than two, or one that is not a text; begins with ``where``.
    """
    choices = get_value(where, row, key, list)
    if len(choices) < 2:
        raise UserError(f"{where}: `{key}` must be at least 2, got {len(choices)}")
    return tuple(check_kind(where, one, f"choice {n}", str) for n, one in enumerate(choices))
