"""Questions about paragraphs: SQuAD's own files, and rows of a table."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import check_columns, check_kind, get_value
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write, parse_json
from fairseq_xling.core.ranges import check_bound
from fairseq_xling.core.texts import read_text
from fairseq_xling.tasks.formats import Columns, Format, formats
from fairseq_xling.tasks.items import Item, one_row, read_rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class QuestionItem(Item):
    """A question; its ``line`` is 0, as one line may contain a whole file.

    Attributes:
        id: its unique name in the file.
        answers: each gold answer's first character in the context, and the one after its last.
        impossible: whether it is annotated as unanswerable.
        empty: whether it has a list of answers with none in it, and nothing says what that means.
    """

    id: str
    question: str
    context: str
    answers: tuple[tuple[int, int], ...]
    impossible: bool = False
    empty: bool = False

    @property
    def place(self) -> str:
        """``file: question 'id'``, for messages."""
        return f"{self.path}: question {self.id!r}"

    @property
    def texts(self) -> tuple[str, ...]:
        """The gold answers as texts."""
        return tuple(self.context[begin:end] for begin, end in self.answers)


@formats.register("squad")
class Squad(Format):
    """SQuAD: one JSON object; questions about paragraphs, answered by a span of the paragraph.

        {"data": [{"paragraphs": [{"context": TEXT, "qas": [
            {"id": TEXT, "question": TEXT,
             "answers": [{"text": TEXT, "answer_start": NUMBER}]}]}]}]}

    ``answer_start`` counts characters (Unicode code points) from 0. A question with
    ``"is_impossible": true`` is one that the paragraph does not answer (SQuAD 2.0); it has no
    ``answers``. An empty list of ``answers`` says the same in a file that answers other questions
    and has no ``is_impossible``; other questions without ``answers`` are for prediction.
    Predictions are ``{id: text}``, as the usual scorers expect, and the text is empty if there is
    no answer. XQuAD, MLQA and CMRC 2018 in SQuAD's format can also be read.
    """

    suffix = ".json"
    holds = QuestionItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[QuestionItem]:
        """See `Format`; errors name the question's id, or its paragraph."""
        check_columns(list(columns), "SQuAD")
        content = parse_json(path, read_text(path, "json"))
        found = _with_own_ids(_questions(path, content))
        if not found:
            raise UserError(f"{path}: contains no questions")
        yield from _decided(path, found)

    @staticmethod
    def write(
        path: Path,
        items: Sequence[QuestionItem],
        predictions: Sequence[tuple[int, int]],
        columns: Columns,
    ) -> None:
        """``{id: text}``; a prediction is the first character of the answer and the one after."""
        pairs = zip(items, predictions, strict=True)
        texts = {item.id: item.context[begin:end] for item, (begin, end) in pairs}
        with atomic_write(path, "w") as file:
            json.dump(texts, file, ensure_ascii=False, indent=1)
            file.write("\n")


def _questions(path: Path, content: Any) -> Iterator[QuestionItem]:
    for a, article in enumerate(get_value(str(path), content, "data", list), start=1):
        where = f"{path}: article {a}"
        for p, paragraph in enumerate(get_value(where, article, "paragraphs", list), start=1):
            where = f"{path}: article {a}, paragraph {p}"
            context = _context(where, paragraph)
            for q, question in enumerate(get_value(where, paragraph, "qas", list), start=1):
                with one_row():
                    yield _question(path, f"{where}, question {q}", context, question)


def _with_own_ids(items: Iterable[QuestionItem]) -> list[QuestionItem]:
    """``items``, all of a file."""
    found: dict[str, QuestionItem] = {}
    for item in items:
        with one_row():
            if item.id in found:
                raise UserError(f"{item.place}: the id occurs twice in the file")
            found[item.id] = item
    return list(found.values())


def _decided(path: Path, items: Sequence[QuestionItem]) -> Iterator[QuestionItem]:
    """``items``; those with an empty list of answers have none, if others of the file have some, as
    in ``squad_v2`` of Hugging Face's datasets, and none is said to be impossible."""
    empty = sum(item.empty for item in items)
    said = any(item.impossible for item in items)
    declines = empty and not said and any(item.answers for item in items)
    if declines:
        logger.warning(
            "%s: %d of %d questions have an empty list of answers: they are read as unanswerable",
            *(path, empty, len(items)),
        )
    for item in items:
        yield replace(item, impossible=True) if declines and item.empty else item


def _context(where: str, given: Any) -> str:
    context = get_value(where, given, "context", str)
    check_bound("context", len(context), where)
    return context


def _question(path: Path, where: str, context: str, question: Any) -> QuestionItem:
    """The item of an object as in SQuAD's files; errors begin with ``where``, or with its id."""
    name = get_value(where, question, "id", str)
    where = f"{path}: question {name!r}"
    text = get_value(where, question, "question", str)
    given, impossible = question.get("answers"), question.get("is_impossible")
    answers = check_kind(where, [] if given is None else given, "`answers`", list)
    empty = impossible is None and given == []
    impossible = False if impossible is None else impossible
    if not isinstance(impossible, bool):
        raise UserError(f"{where}: `is_impossible` must be true or false, got {shown(impossible)}")
    if impossible and answers:
        raise UserError(
            f"{where}: `answers` of an impossible question must be none, got {len(answers)}"
        )
    spans = tuple(_span(where, context, answer) for answer in answers)
    return QuestionItem(str(path), 0, name, text, context, spans, impossible, empty)


def _span(where: str, context: str, answer: Any) -> tuple[int, int]:
    text = get_value(where, answer, "text", str)
    begin = get_value(where, answer, "answer_start", int)
    if not 0 <= begin < len(context):
        raise UserError(
            f"{where}: `answer_start` must lie inside the context's {len(context)} characters, "
            f"got {begin}"
        )
    found = context[begin : begin + len(text)]
    if found != text:
        raise UserError(
            f"{where}: the answer must be the context's text at its `answer_start`, got "
            f"{shown(text)} at {begin}, where the context has {shown(found)}"
        )
    return begin, begin + len(text)


@formats.register("question_rows")
class QuestionRows(Squad):
    """Rows with a context, a question and its answers, as Hugging Face's datasets has SQuAD.

    JSON lines, Parquet and Arrow files with the columns ``id``, ``context``, ``question`` and
    ``answers``, an object of two lists, ``text`` and ``answer_start``. What holds for SQuAD's own
    files holds here (`squad`), and predictions are the same. A question without answers is for
    prediction, unless a column ``is_impossible`` says that it has none, or, in a file without that
    column, other questions have some (``squad_v2``).
    """

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[QuestionItem]:
        """See `Format`; errors name the row, or the question's id."""
        check_columns(list(columns), "rows of questions as")

        def questions() -> Iterator[QuestionItem]:
            needed, further = ("id", "context", "question"), ("answers", "is_impossible")
            for line, row in read_rows(path, needed, further):
                with one_row():
                    where = f"{path}:{line}"
                    context, answers = _context(where, row), _answers(where, row.get("answers"))
                    yield _question(path, where, context, {**row, "answers": answers})

        yield from _decided(path, _with_own_ids(questions()))


def _answers(where: str, given: Any) -> list[dict[str, Any]] | None:
    """The answers as SQuAD's own list of objects; None where there is no list."""
    if given is None:
        return None
    texts, starts = (get_value(where, given, key, list) for key in ("text", "answer_start"))
    if len(texts) != len(starts):
        raise UserError(
            f"{where}: `answers` must have an `answer_start` for each `text`, got {len(starts)} "
            f"for {len(texts)}"
        )
    pairs = zip(texts, starts, strict=True)
    return [{"text": text, "answer_start": start} for text, start in pairs]
