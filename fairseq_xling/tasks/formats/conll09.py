"""CoNLL-2009: the frames of predicates, and as input of parsing its dependency trees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import atomic_write
from fairseq_xling.tasks.formats import (
    Columns,
    Format,
    check_fixed_columns,
    formats,
    refuse_withheld,
)
from fairseq_xling.tasks.formats.conllu import (
    TreeFormat,
    TreeItem,
    sentences,
    tree_of,
)
from fairseq_xling.tasks.items import Item, one_row

_ID, _FORM, _LEMMA, _PLEMMA, _POS, _PPOS, _HEAD, _DEPREL = 0, 1, 2, 3, 4, 5, 8, 10
_FILLPRED, _PRED, _FIRST = 12, 13, 14
NONE = "_"

Roles = tuple[tuple[str, ...], ...]  # by predicate, the role of each word, or `NONE`


class Frames(NamedTuple):
    """The frames of a sentence's predicates.

    Attributes:
        senses: of each predicate its PRED, or ``.`` and a sense number, which its lemma precedes;
            empty if senses are not predicted.
    """

    roles: Roles
    senses: tuple[str, ...] = ()


@dataclass(frozen=True)
class FramesItem(Item):
    """A sentence.

    Attributes:
        words: its words.
        predicates: indices of its predicates, from 0.
        roles: None if the file has none.
        lemmas: of each predicate its PLEMMA, or its LEMMA where that is `NONE`.
        senses: of each predicate its PRED, or `NONE`.
        lines: all of its lines, including the blank line after it.
    """

    words: tuple[str, ...]
    predicates: tuple[int, ...]
    roles: Roles | None
    lemmas: tuple[str, ...]
    senses: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """Of each word its PPOS, or its POS where that is `NONE`."""
        cells = [line.split("\t") for line in self.lines[: len(self.words)]]
        return tuple(row[_POS] if row[_PPOS] == NONE else row[_PPOS] for row in cells)


@formats.register("conll09")
class Conll09(Format):
    """CoNLL-2009: predicates and the roles of words in their frames, tabs between columns.

    One word per line, a blank line after each sentence: ID, FORM, LEMMA, PLEMMA, POS, PPOS, six
    columns that are not read, FILLPRED (``Y`` of a predicate), PRED (``lemma.sense``), and an APRED
    column for each predicate of the sentence, in their order, with the word's role or ``_``.
    Predicates are given: APRED is predicted, and PRED by a model of senses; other models keep it. A
    file whose sentences have predicates but no APRED columns is unannotated. There are no comments.
    """

    suffix = ".conll09"
    holds = FramesItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[FramesItem]:
        """See `Format`."""
        check_fixed_columns("CoNLL-2009", columns)
        annotated = None
        for first, lines in sentences(path):
            with one_row():
                item = _item(path, first, lines, annotated)
                if item.predicates:
                    annotated = item.roles is not None
                yield item

    @staticmethod
    def write(
        path: Path, items: Sequence[FramesItem], predictions: Sequence[Frames], columns: Columns
    ) -> None:
        """See `Format`: the input, with predicted APRED columns, and PRED if it is predicted."""
        with atomic_write(path, "w") as file:
            for item, (roles, senses) in zip(items, predictions, strict=True):
                count = len(item.words)
                frames = list(zip(*roles, strict=True)) if roles else [()] * count
                cells = [line.split("\t")[:_FIRST] for line in item.lines[:count]]
                if senses:
                    found = zip(item.predicates, item.lemmas, senses, strict=True)
                    for predicate, lemma, sense in found:
                        cells[predicate][_PRED] = lemma * sense.startswith(".") + sense
                for given, row in zip(frames, cells, strict=True):
                    file.write("\t".join([*row, *given]) + "\n")
                file.writelines(f"{line}\n" for line in item.lines[count:])


def word_cells(path: Path, first: int, lines: Sequence[str]) -> list[list[str]]:
    """The columns of each word of a sentence, at least 14; ID and FORM are checked."""
    rows = [line.split("\t") for line in lines if line.strip()]
    for number, row in enumerate(rows):
        place = f"{path}:{first + number}"
        if len(row) < _FIRST:
            raise UserError(f"{place}: must have at least {_FIRST} columns, got {len(row)}")
        if row[_ID] != str(number + 1):
            raise UserError(f"{place}: ID must be {number + 1}, got {row[_ID]!r}")
        if not row[_FORM].strip():
            raise UserError(f"{place}: the FORM is empty")
    refuse_withheld(f"{path}:{first}", [row[_FORM] for row in rows])
    return rows


def _item(path: Path, first: int, lines: Sequence[str], annotated: bool | None) -> FramesItem:
    """A sentence; ``annotated``: whether those before it were, None if none had predicates."""
    rows = word_cells(path, first, lines)
    for number, row in enumerate(rows):
        if row[_FILLPRED] not in ("Y", NONE):
            raise UserError(
                f"{path}:{first + number}: FILLPRED must be Y or _, got {row[_FILLPRED]!r}"
            )
    predicates = tuple(number for number, row in enumerate(rows) if row[_FILLPRED] == "Y")
    if annotated is None:
        annotated = max(map(len, rows)) > _FIRST
    width = _FIRST + len(predicates) * annotated
    for number, row in enumerate(rows):
        place = f"{path}:{first + number}"
        if len(row) != width:
            apreds = f"an APRED for each of {len(predicates)} predicates"
            raise UserError(
                f"{place}: must have {width} columns, with {apreds if annotated else 'no APRED'}, "
                f"got {len(row)}"
            )
        if not all(map(str.strip, row[_FIRST:])):
            raise UserError(f"{place}: an APRED must be a role or _, got nothing")
        if row[_FILLPRED] == "Y" and not row[_PRED].strip():
            raise UserError(f"{place}: the PRED of a predicate must be a sense or _, got nothing")
    roles = tuple(
        tuple(row[_FIRST + n] for row in rows) for n in range(len(predicates) * annotated)
    )
    words, chosen = tuple(row[_FORM] for row in rows), [rows[number] for number in predicates]
    given = roles if annotated or not predicates else None
    # The predicted lemma is what a system has at test time; some files have the gold one alone.
    lemmas = tuple(row[_LEMMA] if row[_PLEMMA] == NONE else row[_PLEMMA] for row in chosen)
    senses = tuple(row[_PRED] for row in chosen)
    return FramesItem(str(path), first, words, predicates, given, lemmas, senses, tuple(lines))


@formats.register("conll09_trees")
class Conll09Trees(TreeFormat):
    """CoNLL-2009 as input of parsing: its dependency trees, tabs between columns.

    Columns, from 0: FORM 1, POS 4, HEAD 8, DEPREL 10. Predictions replace HEAD and DEPREL, and POS
    by a model that predicts it; the predicted columns PPOS, PHEAD and PDEPREL of the file and its
    frames are neither read nor changed. A file with ``_`` for every HEAD is unannotated. There are
    no comments.
    """

    suffix = ".conll09"
    title = "CoNLL-2009"
    predicted = (_HEAD, _DEPREL, _POS)

    @staticmethod
    def item(path: Path, first: int, lines: Sequence[str], annotated: bool | None) -> TreeItem:
        """See `TreeFormat`."""
        cells = word_cells(path, first, lines)
        places = [f"{path}:{first + number}" for number in range(len(cells))]
        words, tags, heads, relations = (
            tuple(word[column] for word in cells) for column in (_FORM, _POS, _HEAD, _DEPREL)
        )
        tree = tree_of(places, heads, relations, annotated)
        return TreeItem(str(path), first, words, tags, tree, tuple(lines), tuple(range(len(cells))))
