"""CoNLL-2009 as input of parsing: its dependency trees, tabs between columns.

Columns, from 0: FORM 1, POS 4, HEAD 8, DEPREL 10. Predictions replace HEAD and DEPREL, and POS by a
model that predicts it; the predicted columns PPOS, PHEAD and PDEPREL of the file and its frames are
neither read nor changed. A file with ``_`` for every HEAD is unannotated. There are no comments.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, check_fixed_columns, formats
from fairseq_xling.tasks.formats.conll09 import word_cells
from fairseq_xling.tasks.formats.conllu import (
    TaggedTree,
    Tree,
    TreeItem,
    sentences,
    tree_of,
    write_trees,
)

_FORM, _POS, _HEAD, _DEPREL = 1, 4, 8, 10


@formats.register("conll09_trees")
class Conll09Trees(Format):
    """See the module's docstring."""

    suffix = ".conll09"
    holds = TreeItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[TreeItem]:
        """See `Format`."""
        check_fixed_columns("CoNLL-2009", columns)
        annotated = None
        for first, lines in sentences(path):
            with one_row():
                item = _item(path, first, lines, annotated)
                annotated = item.tree is not None
                yield item

    @staticmethod
    def write(
        path: Path,
        items: Sequence[TreeItem],
        predictions: Sequence[Tree | TaggedTree],
        columns: Mapping,
    ) -> None:
        """See `Format`: line for line as in the input."""
        write_trees(path, items, predictions, (_HEAD, _DEPREL, _POS))


def _item(path: Path, first: int, lines: Sequence[str], annotated: bool | None) -> TreeItem:
    """A sentence; ``annotated``: whether those before it were, None if it is the first."""
    cells = word_cells(path, first, lines)
    places = [f"{path}:{first + number}" for number in range(len(cells))]
    words, tags, heads, relations = (
        tuple(word[column] for word in cells) for column in (_FORM, _POS, _HEAD, _DEPREL)
    )
    tree = tree_of(places, heads, relations, annotated)
    return TreeItem(str(path), first, words, tags, tree, tuple(lines), tuple(range(len(cells))))
