"""CoNLL-U: dependency trees, ten tab-separated columns, a blank line after each sentence.

Multiword tokens (``1-2``), empty nodes (``1.1``) and comments are kept in the output, but have no
prediction; in a word's row, only HEAD and DEPREL are replaced (not DEPS), and UPOS by a model that
predicts it. A file with ``_`` for every HEAD is unannotated; sentences with ``_`` for every FORM,
whose text is withheld, are refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.ranges import bound, exceeds
from fairseq_xling.core.texts import read_lines
from fairseq_xling.tasks.formats import (
    Columns,
    Format,
    check_fixed_columns,
    formats,
    refuse_withheld,
)
from fairseq_xling.tasks.items import Item, one_row

_FORM, _UPOS, _HEAD, _DEPREL, _COLUMNS = 1, 3, 6, 7, 10


class Tree(NamedTuple):
    """For each word its head, a word counted from 1 or 0 for the root, and its relation to it."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]


class TaggedTree(NamedTuple):
    """A tree with the universal part of speech of each word; its first two fields are `Tree`'s."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]
    upos: tuple[str, ...]


@dataclass(frozen=True)
class TreeItem(Item):
    """A sentence.

    Attributes:
        words, upos: its words and their universal parts of speech.
        tree: None if the file has none.
        lines: all of its lines, from its first comment to the blank line after it.
        rows: index in ``lines`` of each word.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...]
    tree: Tree | None
    lines: tuple[str, ...]
    rows: tuple[int, ...]

    def place_of(self, number: int) -> str:
        """``file:line`` of a word, from 0."""
        return f"{self.path}:{self.line + self.rows[number] - self.rows[0]}"


class TreeFormat(Format):
    """Dependency trees with a word on each line, tabs between columns.

    Attributes:
        title: what messages call it.
        predicted: the columns of HEAD, DEPREL and the tag, from 0.
    """

    holds = TreeItem
    title: ClassVar[str]
    predicted: ClassVar[tuple[int, int, int]]

    @staticmethod
    def item(path: Path, first: int, lines: Sequence[str], annotated: bool | None) -> TreeItem:
        """A sentence; ``annotated``: whether those before it were, None if it is the first."""
        raise NotImplementedError

    @classmethod
    def read(cls, path: Path, columns: Columns) -> Iterator[TreeItem]:
        """See `Format`."""
        check_fixed_columns(cls.title, columns)
        annotated = None
        for first, lines in sentences(path):
            with one_row():
                item = cls.item(path, first, lines, annotated)
                annotated = item.tree is not None
                yield item

    @classmethod
    def write(
        cls,
        path: Path,
        items: Sequence[TreeItem],
        predictions: Sequence[Tree | TaggedTree],
        columns: Columns,
    ) -> None:
        """See `Format`: line for line as in the input."""
        with atomic_write(path, "w") as file:
            for item, tree in zip(items, predictions, strict=True):
                lines = [*item.lines]
                for row, *values in zip(item.rows, *tree, strict=True):
                    cells = lines[row].split("\t")
                    # A plain tree has no tags: that column stays.
                    for column, value in zip(cls.predicted, values, strict=False):
                        cells[column] = str(value)
                    lines[row] = "\t".join(cells)
                file.writelines(f"{line}\n" for line in lines)


@formats.register("conllu")
class Conllu(TreeFormat):
    """See the module's docstring."""

    suffix = ".conllu"
    title = "CoNLL-U"
    predicted = (_HEAD, _DEPREL, _UPOS)

    @staticmethod
    def item(path: Path, first: int, lines: Sequence[str], annotated: bool | None) -> TreeItem:
        """See `TreeFormat`."""
        rows = _word_rows(path, first, lines)
        cells = [lines[row].split("\t") for row in rows]
        places = [f"{path}:{first + row}" for row in rows]
        for place, word in zip(places, cells, strict=True):
            if not word[_FORM].strip():
                raise UserError(f"{place}: the FORM is empty")
        refuse_withheld(places[0], [word[_FORM] for word in cells])
        tree = tree_of(
            places, [word[_HEAD] for word in cells], [word[_DEPREL] for word in cells], annotated
        )
        words, upos = (tuple(word[column] for word in cells) for column in (_FORM, _UPOS))
        return TreeItem(str(path), first + rows[0], words, upos, tree, tuple(lines), tuple(rows))


def sentences(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of each sentence, including the blank one after it, and the number of the first.

    Blank lines at the end of the file belong to the last.

    Raises:
        UserError: for a blank line that ends no sentence, for a file without sentences, and for a
            sentence that exceeds the bound.
    """
    lines: list[str] = []
    first, number, closed, spare = 1, 0, False, 0
    most = bound("sentence")
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            spare = spare or (number if closed or not lines else 0)
            lines.append(line)
            closed = True
            continue
        if spare:
            raise UserError(f"{path}:{spare}: a blank line must end a sentence, got no words")
        if closed:
            yield first, lines
            first, lines, closed = number, [], False
        lines.append(line)
        if len(lines) > most:
            raise exceeds("sentence", len(lines), f"{path}:{first}")
    if not any(map(str.strip, lines)):
        raise UserError(f"{path}: contains no sentences")
    yield first, lines


def tree_of(
    places: Sequence[str], heads: Sequence[str], relations: Sequence[str], annotated: bool | None
) -> Tree | None:
    """The tree in the columns HEAD and DEPREL of a sentence's words; None without annotation.

    ``places`` are ``file:line`` of each word; ``annotated``: whether the sentences before it were,
    None if it is the first.
    """
    for place, head, relation in zip(places, heads, relations, strict=True):
        has = head != "_"
        if annotated is None:
            annotated = has
        if annotated and not (is_number(head) and int(head) <= len(heads)):
            raise UserError(f"{place}: HEAD must be a number from 0 to {len(heads)}, got {head!r}")
        if has and not annotated:
            raise UserError(f"{place}: HEAD must be _ as in the rows before, got {head!r}")
        if annotated and relation.strip() in ("", "_"):
            raise UserError(f"{place}: DEPREL must name a relation, got {relation!r}")
    if not annotated:
        return None
    tree = Tree(tuple(map(int, heads)), tuple(relations))
    if fault := tree_fault(tree.heads):
        raise UserError(f"{places[fault[0]]}: {fault[1]}")
    return tree


def _word_rows(path: Path, first: int, lines: Sequence[str]) -> list[int]:
    """The indices of the words in ``lines``; columns and ids of all rows are checked."""
    rows: list[int] = []
    empty, covered, last_range = 0, 0, 0
    begun = False
    for row, line in enumerate(lines):
        if not line.strip() or (not begun and line.startswith("#")):
            continue
        begun, place = True, f"{path}:{first + row}"
        cells = line.split("\t")
        if len(cells) != _COLUMNS:
            raise UserError(f"{place}: must have {_COLUMNS} columns, got {len(cells)}")
        number, following = cells[0], len(rows) + 1
        if "-" in number:
            start, _, end = number.partition("-")
            begins = start == str(max(following, covered + 1))
            if not (begins and is_number(end) and int(end) > int(start)):
                raise UserError(
                    f"{place}: ID must be {following} or a range that begins with it, and no "
                    f"range may overlap another, got {number!r}"
                )
            covered, last_range = int(end), row
        elif "." in number:
            if number != f"{len(rows)}.{empty + 1}":
                raise UserError(
                    f"{place}: ID must be {following} or {len(rows)}.{empty + 1}, got {number!r}"
                )
            empty += 1
        else:
            if number != str(following):
                raise UserError(f"{place}: ID must be {following}, got {number!r}")
            rows.append(row)
            empty = 0
    if not rows:
        raise UserError(f"{path}:{first}: a sentence must have words, got none")
    if covered > len(rows):
        raise UserError(
            f"{path}:{first + last_range}: ID must end within the {len(rows)} words of the "
            f"sentence, got {lines[last_range].split(chr(9))[0]!r}"
        )
    return rows


def is_number(text: str) -> bool:
    """Whether it is written in plain digits, few enough for the number of a word.

    >>> is_number("12"), is_number("-1"), is_number("²")
    (True, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) < 10


def tree_fault(heads: Sequence[int]) -> tuple[int, str] | None:
    """Why ``heads`` is not a tree with one root: a word, from 0, and the broken rule.

    >>> tree_fault([2, 0, 2])
    >>> tree_fault([0, 0])
    (1, 'a tree must have one root, got a second HEAD 0')
    >>> tree_fault([0, 3, 2])
    (1, 'HEAD must lead to the root, got a cycle')
    """
    roots = [word for word, head in enumerate(heads) if head == 0]
    if len(roots) > 1:
        return roots[1], "a tree must have one root, got a second HEAD 0"
    if not roots:
        return 0, "a tree must have a root, got no HEAD 0 in this sentence"
    seen = [-1] * len(heads)  # the word from which each was reached first
    for start in range(len(heads)):
        word = start
        while word >= 0 and seen[word] < 0:
            seen[word] = start
            word = heads[word] - 1
        if word >= 0 and seen[word] == start:
            return word, "HEAD must lead to the root, got a cycle"
    return None
