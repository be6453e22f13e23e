"""Rows with a context, a question and its answers, as Hugging Face's datasets has SQuAD and kin.

JSON lines, Parquet and Arrow files with the columns ``id``, ``context``, ``question`` and
``answers``, an object of two lists, ``text`` and ``answer_start``. What holds for SQuAD's own files
holds here (`squad`), and predictions are the same. A question without answers is for prediction,
unless a column ``is_impossible`` says that it has none.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError
from fairseq_xling.json_fields import check_columns, get_value
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import formats
from fairseq_xling.tasks.formats.squad import (
    QuestionItem,
    Squad,
    context_of,
    question_item,
    with_own_ids,
)
from fairseq_xling.tasks.rows import read_rows

_NEEDED, _FURTHER = ("id", "context", "question"), ("answers", "is_impossible")


@formats.register("question_rows")
class QuestionRows(Squad):
    """See the module's docstring."""

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[QuestionItem]:
        """See `Format`; errors name the row, or the question's id."""
        check_columns(list(columns), "rows of questions as")
        yield from with_own_ids(_questions(path))


def _questions(path: Path) -> Iterator[QuestionItem]:
    for line, row in read_rows(path, _NEEDED, _FURTHER):
        with one_row():
            where = f"{path}:{line}"
            context, answers = context_of(where, row), _answers(where, row.get("answers"))
            impossible = row.get("is_impossible") or False
            question = {**row, "answers": answers, "is_impossible": impossible}
            yield question_item(path, where, context, question)


def _answers(where: str, given: Any) -> list[dict[str, Any]]:
    """The answers as SQuAD's own list of objects."""
    if given is None:
        return []
    texts, starts = (get_value(where, given, key, list) for key in ("text", "answer_start"))
    if len(texts) != len(starts):
        raise UserError(
            f"{where}: `answers` must have an `answer_start` for each `text`, got {len(starts)} "
            f"for {len(texts)}"
        )
    pairs = zip(texts, starts, strict=True)
    return [{"text": text, "answer_start": start} for text, start in pairs]
