"""Semantic roles, from CoNLL-2009: a predicate, an argument, and the role."""

from collections.abc import Mapping
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.conll09 import NONE, Conll09
from fairseq_xling.tasks.probing.converters import Rows, converters


@converters.register("srl")
def srl(path: Path, columns: Mapping[str, str]) -> Rows:
    """See `Converter`. An argument is one word, the head of what has the role."""
    for item in Conll09.read(path, columns):
        if item.roles is None:
            raise UserError(f"{item.place}: the sentence has no frames")
        yield (
            item.words,
            [
                {"span1": [predicate, predicate + 1], "span2": [word, word + 1], "label": role}
                for predicate, row in zip(item.predicates, item.roles, strict=True)
                for word, role in enumerate(row)
                if role != NONE
            ],
        )
