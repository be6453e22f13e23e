"""ChID: which idiom fills a blank? One JSON object per line, with the answers in another file.

    {"content": [TEXT, TEXT], "candidates": [IDIOM, IDIOM]}

A blank is ``#idiom000123#``, a name that occurs once in a file. The answers of ``train.json`` are
in ``train_answer.json`` in the same folder, one JSON object ``{"#idiom000123#": NUMBER}`` that
counts the candidates from 0; without that file the blanks are for prediction. Zheng et al. (2019),
"ChID: A Large-scale Chinese IDiom Dataset for Cloze Test", Section 3.

Each blank is an item: its question is the sentence around it, where it is shown as ``____``, its
context the whole text; other blanks are shown as ``...``.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import atomic_write, read_lines, read_text
from fairseq_xling.json_fields import check_columns, check_kind, get_value, parse_json
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, formats
from fairseq_xling.tasks.formats.choices import ChoiceItem, read_choices

_BLANK = re.compile(r"#idiom\d+#")
_END = re.compile(r"[。！？!?\n]")
_THIS, _OTHER = "____", "..."


@dataclass(frozen=True)
class BlankItem(ChoiceItem):
    """A blank; ``blank`` is its name in the file."""

    blank: str = ""


@formats.register("chid")
class Chid(Format):
    """See the module's docstring."""

    suffix = ".json"
    holds = BlankItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[BlankItem]:
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
        path: Path, items: Sequence[BlankItem], predictions: Sequence[int], columns: Mapping
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
