"""Questions with candidate answers: our own JSON lines, C3 and ChID."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import check_columns, check_kind, get_value
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write, parse_json
from fairseq_xling.core.texts import read_lines, read_text
from fairseq_xling.tasks.formats import Columns, Format, formats, numbered_lines, write_objects
from fairseq_xling.tasks.items import UNLABELLED, Item, one_row


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
    """One JSON object per line: a question and candidate answers, optionally about a text.

        {"question": TEXT, "context": TEXT, "choices": [TEXT, TEXT], "label": NUMBER}

    ``label`` counts the choices from 0; it is null, -1, or left out, if the answer is unknown.
    Other keys are kept. C3 and ChID have their own formats, ``c3`` and ``chid``.
    """

    suffix = ".jsonl"
    holds = ChoiceItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[ChoiceItem]:
        """See `Format`. Every line contains a question; none is blank."""
        check_columns(list(columns), "multiple-choice")
        for line, text in numbered_lines(path, "questions"):
            with one_row():
                yield _item(path, line, parse_json(path, text, line))

    @staticmethod
    def write(
        path: Path, items: Sequence[ChoiceItem], predictions: Sequence[int], columns: Columns
    ) -> None:
        """See `Format`: the same objects, with the predicted label."""
        pairs = zip(items, predictions, strict=True)
        write_objects(path, ({**item.row, "label": label} for item, label in pairs))


def _item(path: Path, line: int, row: Any) -> ChoiceItem:
    where = f"{path}:{line}"
    question = get_value(where, row, "question", str)
    choices = read_choices(where, row, "choices")
    context, label = row.get("context"), row.get("label")
    if context is not None:
        check_kind(where, context, "`context`", str)
    if str(label) in UNLABELLED:
        label = None
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
    """C3: questions about dialogues and texts; one JSON list with an entry for each text.

        [[[TEXT, TEXT], [{"question": TEXT, "choice": [TEXT, TEXT], "answer": TEXT}], NAME], ...]

    ``answer`` is one of the choices; a question without it is for prediction. Sun et al. (2020),
    "Investigating Prior Knowledge for Challenging Chinese Machine Reading Comprehension", Section
    3.
    """

    suffix = ".json"
    holds = C3Item

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[C3Item]:
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
                    place = f"{where}, question {number}"
                    text = get_value(place, question, "question", str)
                    choices = read_choices(place, question, "choice")
                    answer = question.get("answer")
                    if answer is not None and answer not in choices:
                        raise UserError(
                            f"{place}: `answer` must be one of the choices, got {shown(answer)}"
                        )
                    label = None if answer is None else choices.index(answer)
                    fields = str(path), 0, text, choices, context or None, label, question
                    yield C3Item(*fields, entry, number, given)
        if not found:
            raise UserError(f"{path}: contains no questions")

    @staticmethod
    def write(
        path: Path, items: Sequence[C3Item], predictions: Sequence[int], columns: Columns
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


_BLANK = re.compile(r"#idiom\d+#")
_END = re.compile(r"[。！？!?\n]")
_THIS, _OTHER = "____", "..."


@dataclass(frozen=True)
class BlankItem(ChoiceItem):
    """A blank; ``blank`` is its name in the file."""

    blank: str = ""


@formats.register("chid")
class Chid(Format):
    """ChID: which idiom fills a blank? One JSON object per line, with the answers in another file.

        {"content": [TEXT, TEXT], "candidates": [IDIOM, IDIOM]}

    A blank is ``#idiom000123#``, a name that occurs once in a file. The answers of ``train.json``
    are in ``train_answer.json`` in the same folder, one JSON object ``{"#idiom000123#": NUMBER}``
    that counts the candidates from 0; without that file the blanks are for prediction. Zheng et al.
    (2019), "ChID: A Large-scale Chinese IDiom Dataset for Cloze Test", Section 3.

    Each blank is an item: its question is the sentence around it, where it is shown as ``____``,
    its context the whole text; other blanks are shown as ``...``.
    """

    suffix = ".json"
    holds = BlankItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[BlankItem]:
        """See `Format`."""
        check_columns(list(columns), "ChID")
        answers, seen = _answers(path), set()
        for line, text in enumerate(read_lines(path), start=1):
            with one_row():
                yield from _items(path, line, parse_json(path, text, line), answers, seen)
        if not seen:
            raise UserError(f"{path}: contains no blanks")

    @staticmethod
    def write(
        path: Path, items: Sequence[BlankItem], predictions: Sequence[int], columns: Columns
    ) -> None:
        """See `Format`: a file of answers."""
        pairs = zip(items, predictions, strict=True)
        with atomic_write(path, "w") as file:
            json.dump({item.blank: prediction for item, prediction in pairs}, file, indent=1)
            file.write("\n")

    @staticmethod
    def beside(path: Path) -> tuple[Path, ...]:
        """The file of answers, if there is one."""
        other = _answers_path(path)
        return (other,) if other.is_file() else ()


def _items(
    path: Path, line: int, row: Any, answers: Mapping[str, Any] | None, seen: set[str]
) -> list[BlankItem]:
    """The blanks of a line; their names are added to those ``seen``."""
    where, found = f"{path}:{line}", []
    choices = read_choices(where, row, "candidates")
    for content in get_value(where, row, "content", list):
        for match in _BLANK.finditer(check_kind(where, content, "each text", str)):
            if match[0] in seen:
                raise UserError(f"{where}: the blank {match[0]} occurs twice in the file")
            seen.add(match[0])
            label = _label(path, where, answers, match[0], choices)
            question, context = _around(content, match)
            found.append(
                BlankItem(str(path), line, question, choices, context, label, row, match[0])
            )
    if not found:
        raise UserError(f"{where}: `content` must have a blank such as #idiom000001#")
    return found


def _answers_path(path: Path) -> Path:
    return path.with_name(re.sub(r"(\.jsonl?)?(\.gz)?$", r"_answer\g<0>", path.name, count=1))


def _answers(path: Path) -> Mapping[str, Any] | None:
    other = _answers_path(path)
    if not other.is_file():
        return None
    return check_kind(str(other), parse_json(other, read_text(other, "json")), "it", dict)


def _label(
    path: Path, where: str, answers: Mapping[str, Any] | None, blank: str, choices: Sequence[str]
) -> int | None:
    if answers is None:
        return None
    if blank not in answers:
        raise UserError(f"{where}: {_answers_path(path)} has no answer for {blank}")
    label = check_kind(f"{_answers_path(path)}", answers[blank], f"`{blank}`", int)
    if not 0 <= label < len(choices):
        raise UserError(
            f"{_answers_path(path)}: `{blank}` must lie in [0, {len(choices)}), got {shown(label)}"
        )
    return label


def _around(text: str, blank: re.Match) -> tuple[str, str]:
    """The sentence around a blank, and the whole text, with the blanks as they are shown."""
    begin = max((match.end() for match in _END.finditer(text, 0, blank.start())), default=0)
    end = _END.search(text, blank.end())
    whole = text[: blank.start()] + _THIS + text[blank.end() :]
    sentence = text[begin : blank.start()] + _THIS + text[blank.end() : end.end() if end else None]
    return _BLANK.sub(_OTHER, sentence).strip(), _BLANK.sub(_OTHER, whole)
