"""A token and its tag on each line, or lists of both in rows of a table."""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairseq_xling.core.arguments import check_kind
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import blank_separated, is_blank, read_lines
from fairseq_xling.tasks.formats import (
    Columns,
    Format,
    check_fields,
    formats,
    refuse_headings,
    refuse_withheld,
    write_objects,
)
from fairseq_xling.tasks.formats.texts import label_of
from fairseq_xling.tasks.items import (
    UNLABELLED,
    Item,
    column_number,
    one_row,
    read_rows,
)

logger = logging.getLogger(__name__)

FIELDS = ("token", "tag")
UNTAGGED = "-100"  # instead of the tag of a word that is neither learned nor scored
_DOCUMENT = "-DOCSTART-"
# A source with its date, or an identifier.
_SOURCE = re.compile(r"#\t.*\[[0-9]{4}-[0-9]{2}-[0-9]{2}\]\s*|# id [0-9a-f-]{36}(?:\s.*)?")
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")  # multiword tokens and empty nodes of CoNLL-U
_NUMBER = re.compile(r"[0-9]+(?:[-.][0-9]+)?")
_LANGUAGE = re.compile(r"(?:simple|[a-z]{2,3}(?:-[a-z]+)*):")  # codes of Wikipedia


@dataclass(frozen=True)
class TaggedItem(Item):
    """A sentence.

    Attributes:
        words: its tokens.
        tags: one for each, some of them `UNTAGGED`, or None if the file has none.
        rows: the raw lines of its tokens.
        before, after: the lines between the last sentence and this one, and, in the last one, the
            lines at the end of the file.
        language: what each token of the file begins with, as ``en:``; not part of ``words``.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    rows: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    language: str = ""

    @property
    def every_tag(self) -> tuple[str, ...] | None:
        """The tags, for what cannot leave a word out.

        Raises:
            UserError: for a word that has none.
        """
        if UNTAGGED in (self.tags or ()):
            place = self.place_of(self.tags.index(UNTAGGED))
            raise UserError(f"{place}: each word must have a tag, got {UNTAGGED} or -1")
        return self.tags

    @property
    def documents(self) -> list[str]:
        """The lines that begin documents before the sentence."""
        return [line for line in self.before if _begins_document(line)]

    @property
    def given_words(self) -> list[str]:
        """The tokens as they are in the file."""
        return [self.language + word for word in self.words]

    def place_of(self, number: int) -> str:
        """``file:line`` of a word, from 0."""
        return f"{self.path}:{self.line + number}"


@formats.register("conll")
class Conll(Format):
    """One token per line, its tag in another column, a blank line after each sentence.

    Columns are separated by tabs, or by spaces in a file without tabs; all rows have equally many.
    Without `--columns` the token is in the first column and the tag in the last; if there is only
    one, the text has no tags. WikiAnn is ``token=1,tag=2`` if its rows have numbers, xSID
    ``token=1,tag=3``, GermEval ``token=1,tag=2``; a file whose tokens would be numbers of rows is
    refused. If every token of a file begins with the same language, as in ``en:Paris`` (WikiAnn),
    it is left out of the words and kept in predictions.

    A token whose tag is ``-100`` or ``-1`` is neither learned nor scored.

    Before the first token of a sentence, ``# name = value`` is a comment, and so are ``# id`` and a
    UUID (MultiCoNER); in a file with tabs, so are ``#``, a tab and a source with its date in
    brackets (GermEval), and every line that begins with ``#`` and has no tab. A line with
    ``-DOCSTART-`` separates documents. Predictions keep these lines.
    """

    suffix = ".conll"
    holds = TaggedItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[TaggedItem]:
        """See `Format`. Consecutive blank lines count as one."""
        check_fields(columns, FIELDS)
        found: list[TaggedItem] = []
        tabs = any(
            "\t" in line
            and not (is_blank(line) or _begins_document(line) or _is_comment(line, False))
            for line in read_lines(path)
        )
        places = None
        left: list[str] = []
        for line, before, rows in _sentences(path, tabs):
            if not rows:
                left = before
                continue
            places = places or _find_places(path, line, _cells(rows[0], tabs), columns)
            with one_row():
                found.append(_item(path, line, before, rows, tabs, places))
        if not found:
            raise UserError(f"{path}: contains no sentences")
        _refuse_numbers(found)
        found[-1] = replace(found[-1], after=tuple(left))
        yield from without_language(path, found)

    @staticmethod
    def write(
        path: Path,
        items: Sequence[TaggedItem],
        predictions: Sequence[Sequence[str]],
        columns: Columns,
    ) -> None:
        """See `Format`: line for line as in the input; tags get a column if there was none."""
        with atomic_write(path, "w") as file:
            for item, tags in zip(items, predictions, strict=True):
                file.writelines(f"{line}\n" for line in item.before)
                for row, tag in zip(item.rows, tags, strict=True):
                    cells = _cells(row, "\t" in row)
                    if item.tags is None:
                        cells.append(tag)
                    else:
                        cells[column_number(columns, "tag", None, -1)] = tag
                    file.write(("\t" if "\t" in row or item.tags is None else " ").join(cells))
                    file.write("\n")
                file.writelines(f"{line}\n" for line in item.after)


def without_language(path: Path, items: Sequence[TaggedItem]) -> Iterator[TaggedItem]:
    """``items``, without the language that all of their tokens begin with, if they do."""
    first = _LANGUAGE.match(items[0].words[0]) if items else None
    mark = first[0] if first else ""
    if mark and all(word.startswith(mark) for item in items for word in item.words):
        logger.warning("%s: each token begins with %s, which is not read as part of it", path, mark)
        for item in items:
            with one_row():
                words = tuple(word.removeprefix(mark) for word in item.words)
                for number, word in enumerate(words):
                    _cell(item.place_of(number), word, "token")
                yield replace(item, words=words, language=mark)
    else:
        yield from items


def _sentences(path: Path, tabs: bool) -> Iterator[tuple[int, list[str], list[str]]]:
    """The number of the first row of each sentence, the lines before it, and its rows; at the end
    what follows the last one, without rows."""
    before: list[str] = []
    rows: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if is_blank(line) or _begins_document(line) or (not rows and _is_comment(line, tabs)):
            if rows:
                yield number - len(rows), before, rows
                before, rows = [], []
            before.append(line)
        else:
            rows.append(line)
    if rows:
        yield number + 1 - len(rows), before, rows
        before = []
    yield number + 1, before, []


def _begins_document(line: str) -> bool:
    return _DOCUMENT in line and _DOCUMENT in blank_separated(line)


def _is_comment(line: str, tabs: bool) -> bool:
    if not line.startswith("#"):
        return False
    if "\t" not in line and (tabs or blank_separated(line)[2:3] == ["="]):
        return True
    return _SOURCE.fullmatch(line) is not None


def _cells(row: str, tabs: bool) -> list[str]:
    return row.split("\t") if tabs else blank_separated(row)


def _find_places(
    path: Path, line: int, cells: Sequence[str], columns: Columns
) -> tuple[int, int, int]:
    """How many columns a file has whose first row is ``cells``, and those of token and tag, not
    negative; one for both means no tags."""
    width, found = len(cells), []
    for field, default in (("token", 0), ("tag", -1)):
        place = column_number(columns, field, None, default)
        if not -width <= place < width:
            raise UserError(
                f"{path}:{line}: has no column {place} (`{field}`), only {width} columns"
            )
        found.append(place % width)
    token, tag = found
    if token == tag and "tag" in columns:
        raise UserError(f"`--columns` must give token and tag a column each, got {tag} for both")
    if token != tag:
        refuse_headings(f"{path}:{line}", {"token": cells[token], "tag": cells[tag]}, "remove it")
    return width, token, tag


def _item(
    path: Path,
    line: int,
    before: Sequence[str],
    rows: Sequence[str],
    tabs: bool,
    places: tuple[int, int, int],
) -> TaggedItem:
    width, token, tag = places
    words, tags = [], []
    for number, text in enumerate(rows, start=line):
        row = _cells(text, tabs)
        if len(row) != width:
            raise UserError(
                f"{path}:{number}: must have {width} columns like the rows before, got {len(row)}"
            )
        if token and _NO_WORD.fullmatch(row[0]):
            raise UserError(
                f"{path}:{number}: must be a word, got {row[0]}, a multiword token or an empty "
                "node of CoNLL-U; remove such rows"
            )
        words.append(_cell(f"{path}:{number}", row[token], "token"))
        if token != tag:
            tags.append(_cell(f"{path}:{number}", row[tag], "tag"))
    refuse_withheld(f"{path}:{line}", words)
    return TaggedItem(str(path), line, tuple(words), _given(tags), tuple(rows), tuple(before))


def _given(tags: Sequence[str]) -> tuple[str, ...] | None:
    """``tags``, with `UNTAGGED` for every number of no class; None where there is no other."""
    found = tuple(UNTAGGED if tag in UNLABELLED else tag for tag in tags)
    return None if {*found} <= {UNTAGGED} else found


_TAG = re.compile(r"O|[BIESLU]-\S+")


def _refuse_numbers(items: Sequence[TaggedItem]) -> None:
    """Refuse a file in which the numbers of rows, or tags, are read as tokens."""
    words = [word for item in items for word in item.words]
    if {*words} != {"O"} and all(map(_TAG.fullmatch, words)):
        raise UserError(
            f"{items[0].place}: tokens must be words, got tags, {', '.join(sorted({*words})[:3])}; "
            "name the columns, as by `--columns token=0,tag=-1`"
        )
    numbered = all(
        item.words[0][0] in "01" and all(map(_NUMBER.fullmatch, item.words)) for item in items
    )
    if numbered and any(len(item.words) > 1 for item in items):
        first = items[0]
        raise UserError(
            f"{first.place}: tokens must be words, got the numbers of rows, {first.words[0]}, ...; "
            "name the columns, as by `--columns token=1,tag=2`"
        )


def _cell(place: str, cell: str, field: str) -> str:
    if not cell.strip():
        raise UserError(f"{place}: the {field} is empty")
    return cell.strip()


_USUAL = {"token": "tokens", "tag": "ner_tags"}


@dataclass(frozen=True)
class ListItem(TaggedItem):
    """A sentence in one row; it has no lines of its own."""

    def place_of(self, number: int) -> str:
        """The row: all of its words are there."""
        return self.place


@formats.register("tagged_rows")
class TaggedRows(Format):
    """Rows with a list of tokens and a list of their tags, as Hugging Face's datasets has them.

    JSON lines, Parquet and Arrow files. `--columns` names the lists, as in
    ``token=tokens,tag=upos``; without it they are ``tokens`` and ``ner_tags``. Tags are texts, or
    numbers of classes, whose names Parquet and Arrow files hold; without names the numbers
    themselves are tags. A token whose tag is ``-100`` or ``-1`` is neither learned nor scored, and
    a row without tags is for prediction. Predictions are written as JSON lines with these columns.
    """

    suffix = ".jsonl"
    holds = ListItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[ListItem]:
        """See `Format`; lines are rows, from 1."""
        token, tag = _columns(columns)
        needed, further = ([token, tag], []) if "tag" in columns else ([token], [tag])
        found = []
        for line, row in read_rows(path, needed, further):
            with one_row():
                where = f"{path}:{line}"
                texts = check_kind(where, row[token], f"`{token}`", list)
                words = tuple(check_kind(where, x, f"each of `{token}`", str) for x in texts)
                if not words:
                    raise UserError(f"{where}: `{token}` is empty")
                refuse_withheld(where, words)
                tags = _tags(where, row.get(tag), tag, words)
                found.append(ListItem(str(path), line, words, tags, ()))
        yield from without_language(path, found)

    @staticmethod
    def write(
        path: Path,
        items: Sequence[ListItem],
        predictions: Sequence[Sequence[str]],
        columns: Columns,
    ) -> None:
        """See `Format`."""
        token, tag = _columns(columns)
        pairs = zip(items, predictions, strict=True)
        write_objects(path, ({token: item.given_words, tag: list(tags)} for item, tags in pairs))


def _columns(columns: Columns) -> tuple[str, str]:
    check_fields(columns, FIELDS)
    token, tag = ({**_USUAL, **columns}[field] for field in FIELDS)
    if token == tag:
        raise UserError(f"`--columns` must give token and tag a column each, got {tag!r} for both")
    return token, tag


def _tags(where: str, given: object, column: str, words: Sequence[str]) -> tuple[str, ...] | None:
    if given is None:
        return None
    tags = [
        UNTAGGED if str(tag) in UNLABELLED else label_of(where, tag, column)
        for tag in check_kind(where, given, f"`{column}`", list)
    ]
    if len(tags) != len(words):
        raise UserError(
            f"{where}: `{column}` must have a tag for each of the {len(words)} tokens, got "
            f"{len(tags)}"
        )
    if None not in tags:
        return _given(tags)
    if any(tags):
        raise UserError(f"{where}: `{column}` must have a tag for each token, got none for some")
    return None
