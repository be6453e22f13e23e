"""XNLI as it was published (Conneau et al., 2018): all languages in one file, with headings.

``xnli.dev.tsv`` and ``xnli.test.tsv`` are ``xnli``, the same as JSON lines ``xnli_jsonl``: of a
file that is given as ``de=FILE``, the rows of German are read. The machine-translated training
text, ``multinli.train.de.tsv``, is ``xnli``, too; it is of one language, and its ``contradictory``
is read as ``contradiction``. The label ``-`` means that annotators did not agree.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from fairseq_xling.errors import UserError, shown
from fairseq_xling.files import read_lines
from fairseq_xling.tasks.formats import check_fixed_columns, formats
from fairseq_xling.tasks.formats.json_lines import JsonLines, ObjectItem
from fairseq_xling.tasks.formats.tsv import TextItem, Tsv

_COLUMNS = {"text": "sentence1", "pair": "sentence2", "label": "gold_label"}
_TRANSLATED = {"text": "premise", "pair": "hypo", "label": "label"}
_LABELS = {"contradictory": "contradiction"}


@formats.register("xnli")
class Xnli(Tsv):
    """See the module's docstring."""

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[TextItem]:
        """See `Format`."""
        check_fixed_columns("XNLI", columns)
        headings = next(read_lines(path), "").split("\t")
        known = next((c for c in (_COLUMNS, _TRANSLATED) if {*c.values()} <= {*headings}), None)
        if known is None:
            raise UserError(
                f"{path}:1: must have the headings {', '.join(_COLUMNS.values())}, or "
                f"{', '.join(_TRANSLATED.values())}, got {shown(headings)}"
            )
        for item in Tsv.read(path, known):
            yield dataclasses.replace(item, label=_LABELS.get(item.label, item.label))

    @classmethod
    def read_language(cls, path: Path, columns: Mapping[str, str], lang: str) -> Iterator[TextItem]:
        """See `Format`."""

        def language(item: TextItem) -> str:
            named = "language" in (item.header or ())
            return item.row[item.header.index("language")] if named else lang

        return _of_language(path, cls.read(path, columns), language, lang)


@formats.register("xnli_jsonl")
class XnliJsonl(JsonLines):
    """See the module's docstring."""

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[ObjectItem]:
        """See `Format`."""
        check_fixed_columns("XNLI", columns)
        return JsonLines.read(path, _COLUMNS)

    @classmethod
    def read_language(
        cls, path: Path, columns: Mapping[str, str], lang: str
    ) -> Iterator[ObjectItem]:
        """See `Format`."""
        return _of_language(
            path, cls.read(path, columns), lambda item: item.given.get("language", lang), lang
        )

    @staticmethod
    def write(path, items, predictions, columns) -> None:
        """See `Format`."""
        JsonLines.write(path, items, predictions, _COLUMNS)


def _of_language(
    path: Path, items: Iterable[TextItem], language: Callable[[TextItem], str], lang: str
) -> Iterator[TextItem]:
    others: dict[str, None] = {}
    found = False
    for item in items:
        if language(item) == lang:
            found = True
            yield item
        else:
            others[str(language(item))] = None
    if not found:
        raise UserError(f"{path}: has no rows of language {lang!r}, only of {', '.join(others)}")
