"""Rows with a list of tokens and a list of their tags, as Hugging Face's datasets has them.

JSON lines, Parquet and Arrow files. `--columns` names the lists, as in ``token=tokens,tag=upos``;
without it they are ``tokens`` and ``ner_tags``. Tags are texts, or numbers of classes, whose names
Parquet and Arrow files hold; without names the numbers themselves are tags. A row without tags is
for prediction. Predictions are written as JSON lines with these columns.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write
from fairseq_xling.json_fields import check_kind
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, formats, refuse_withheld
from fairseq_xling.tasks.formats.conll import FIELDS, TaggedItem, without_language
from fairseq_xling.tasks.formats.json_lines import label_of
from fairseq_xling.tasks.rows import read_rows, strings_of

_USUAL = {"token": "tokens", "tag": "ner_tags"}


@dataclass(frozen=True)
class ListItem(TaggedItem):
    """A sentence in one row; it has no lines of its own."""

    def place_of(self, number: int) -> str:
        """The row: all of its words are there."""
        return self.place


@formats.register("tagged_rows")
class TaggedRows(Format):
    """See the module's docstring."""

    suffix = ".jsonl"
    holds = ListItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[ListItem]:
        """See `Format`; lines are rows, from 1."""
        token, tag = _columns(columns)
        needed, further = ([token, tag], []) if "tag" in columns else ([token], [tag])
        found = []
        for line, row in read_rows(path, needed, further):
            with one_row():
                where = f"{path}:{line}"
                words = tuple(strings_of(where, row, token))
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
        columns: Mapping[str, str],
    ) -> None:
        """See `Format`."""
        token, tag = _columns(columns)
        with atomic_write(path, "w") as file:
            for item, tags in zip(items, predictions, strict=True):
                row = {token: item.given_words, tag: list(tags)}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _columns(columns: Mapping[str, str]) -> tuple[str, str]:
    for field in columns:
        if field not in FIELDS:
            raise UserError(f"`--columns` must name {', '.join(FIELDS)}, got {field!r}")
    token, tag = ({**_USUAL, **columns}[field] for field in FIELDS)
    if token == tag:
        raise UserError(f"`--columns` must give token and tag a column each, got {tag!r} for both")
    return token, tag


def _tags(where: str, given: object, column: str, words: Sequence[str]) -> tuple[str, ...] | None:
    if given is None:
        return None
    tags = [label_of(where, tag, column) for tag in check_kind(where, given, f"`{column}`", list)]
    if len(tags) != len(words):
        raise UserError(
            f"{where}: `{column}` must have a tag for each of the {len(words)} tokens, got "
            f"{len(tags)}"
        )
    if None not in tags:
        return tuple(tags)
    if any(tags):
        raise UserError(f"{where}: `{column}` must have a tag for each token, got none for some")
    return None
