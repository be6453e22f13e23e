"""C3: questions about dialogues and texts; one JSON list with an entry for each text.

    [[[TEXT, TEXT], [{"question": TEXT, "choice": [TEXT, TEXT], "answer": TEXT}], NAME], ...]

``answer`` is one of the choices; a question without it is for prediction. Sun et al. (2020),
"Investigating Prior Knowledge for Challenging Chinese Machine Reading Comprehension", Section 3.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_text
from fairseq_xling.json_fields import check_columns, check_kind, get_value, parse_json
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, formats
from fairseq_xling.tasks.formats.choices import ChoiceItem, read_choices


@dataclass(frozen=True)
class C3Item(ChoiceItem):
    """A question; its ``line`` is 0, as one line may contain a whole file.

    Attributes:
        entry, number: which question it is of which entry, both counted from 1.
        given: the raw entry.
    """

    entry: int = 0
    number: int = 0
    given: Sequence[Any] = ()

    @property
    def place(self) -> str:
        """``file: entry 3, question 1``, for messages."""
        return f"{self.path}: entry {self.entry}, question {self.number}"


@formats.register("c3")
class C3(Format):
    """See the module's docstring."""

    suffix = ".json"
    holds = C3Item

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[C3Item]:
        """See `Format`; errors name the entry and question."""
        check_columns(list(columns), "C3")
        content = check_kind(str(path), parse_json(path, read_text(path, "json")), "the file", list)
        found = 0
        for entry, given in enumerate(content, start=1):
            where = f"{path}: entry {entry}"
            if not isinstance(given, list) or len(given) < 2:
                raise UserError(
                    f"{where}: must be a list of texts and questions, got {shown(given)}"
                )
            texts, questions = (
                check_kind(where, part, name, list)
                for part, name in zip(given, ("the first part", "the second part"), strict=False)
            )
            context = " ".join(check_kind(where, text, "each text", str) for text in texts)
            for number, question in enumerate(questions, start=1):
                found += 1
                with one_row():
                    yield _item(path, entry, number, context or None, question, given)
        if not found:
            raise UserError(f"{path}: contains no questions")

    @staticmethod
    def write(
        path: Path, items: Sequence[C3Item], predictions: Sequence[int], columns: Mapping
    ) -> None:
        """See `Format`: the same list, with the predicted choices as answers."""
        content = []
        pairs = zip(items, predictions, strict=True)
        for _, group in itertools.groupby(pairs, key=lambda pair: pair[0].entry):
            members = list(group)
            questions = [
                {**item.row, "answer": item.choices[prediction]} for item, prediction in members
            ]
            texts, _, *rest = members[0][0].given
            content.append([texts, questions, *rest])
        with atomic_write(path, "w") as file:
            json.dump(content, file, ensure_ascii=False, indent=1)
            file.write("\n")


def _item(
    path: Path, entry: int, number: int, context: str | None, question: Any, given: Sequence[Any]
) -> C3Item:
    where = f"{path}: entry {entry}, question {number}"
    text = get_value(where, question, "question", str)
    choices = read_choices(where, question, "choice")
    answer = question.get("answer")
    if answer is not None and answer not in choices:
        raise UserError(f"{where}: `answer` must be one of the choices, got {shown(answer)}")
    label = None if answer is None else choices.index(answer)
    return C3Item(str(path), 0, text, choices, context, label, question, entry, number, given)
