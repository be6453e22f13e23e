"""Texts and pairs of texts with a label: tab-separated, as JSON lines, in tables, XNLI and WSC."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairseq_xling.core.arguments import check_columns, check_kind, get_value
from fairseq_xling.core.columns import check_text, column_type, schema_of
from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write, check_files, parse_json
from fairseq_xling.core.texts import has_commas, read_lines
from fairseq_xling.tasks.formats import (
    Columns,
    Format,
    check_fields,
    check_fixed_columns,
    formats,
    numbered_lines,
    refuse_headings,
    write_objects,
)
from fairseq_xling.tasks.items import (
    UNLABELLED,
    Item,
    column_number,
    is_number,
    one_row,
    table_rows,
)

_USUAL = {1: ("text",), 2: ("text", "label"), 3: ("text", "pair", "label")}
FIELDS = ("text", "pair", "label")
UNDECIDED = "-"  # annotators did not agree, as in SNLI
_NONE = (UNDECIDED, *UNLABELLED)
_NAME = re.compile(r"[A-Za-z][\w.]*")  # of a column


@dataclass(frozen=True)
class TextItem(Item):
    """A text or a pair of texts; ``label`` is None if there is none."""

    texts: tuple[str, ...]
    label: str | None
    row: tuple[str, ...]
    label_column: int | None
    header: tuple[str, ...] | None = None


@formats.register("tsv")
class Tsv(Format):
    """One row per line, tab-separated columns: one or two texts and a label.

    Without `--columns`, two columns are a text and its label, three are two texts and their label,
    and a single one is a text without label. With headings in `--columns`, the first line contains
    them; with numbers, it is a row like others; without `--columns`, a first line that looks like
    headings is refused. The labels ``-`` (annotators did not agree, as in SNLI), ``-1`` and
    ``-100`` (no class) mean that there is none.
    """

    suffix = ".tsv"
    holds = TextItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[TextItem]:
        """See `Format`."""
        check_fields(columns, FIELDS)
        names, header, places = None, None, None
        named = not all(map(is_number, columns.values()))
        width, first, labels = 0, None, Counter[str]()
        for line, text in enumerate(read_lines(path), start=1):
            row = text.split("\t")
            if named and header is None:
                names, header = tuple(row), {name: number for number, name in enumerate(row)}
                for heading in columns.values():
                    if row.count(heading) > 1:
                        raise UserError(f"{path}:{line}: there are two headings {heading!r}")
                continue
            if places is None:
                places, width = _places(path, line, row, columns, header), len(row)
                if not named:
                    cells = {field: row[place] for field, place in places.items()}
                    option = ",".join(f"{field}={cell}" for field, cell in cells.items())
                    refuse_headings(f"{path}:{line}", cells, f"name them by `--columns {option}`")
            with one_row():
                item = _item(path, line, row, width, places, names)
                first = first or item
                labels[item.label or ""] += 1
                yield item
        if places is None:
            raise UserError(f"{path}: contains no rows")
        if first and not columns:
            _refuse_heading(first, labels)

    @staticmethod
    def write(
        path: Path, items: Sequence[TextItem], predictions: Sequence[str], columns: Columns
    ) -> None:
        """See `Format`; a file without a label column gets one at its end."""
        with atomic_write(path, "w") as file:
            if items and items[0].header:
                file.write("\t".join(items[0].header) + "\n")
            for item, prediction in zip(items, predictions, strict=True):
                row = [*item.row]
                if item.label_column is None:
                    row.append(prediction)
                else:
                    row[item.label_column] = prediction
                file.write("\t".join(row) + "\n")


def _refuse_heading(first: TextItem, labels: Counter[str]) -> None:
    """Refuse a first row whose label no other row has, while those of all others occur again, or
    whose texts are names."""
    others = [count for label, count in labels.items() if label != first.label]
    named = all(_NAME.fullmatch(text) for text in first.texts)
    repeat = sum(others) > max(2, 2 * len(others) - 1)
    if first.label and labels[first.label] == 1 and repeat and (named or min(others) > 1):
        fields = _USUAL[len(first.row)]
        columns = [
            ",".join(f"{field}={cell}" for field, cell in zip(fields, cells, strict=False))
            for cells in (first.row, range(len(fields)))
        ]
        raise UserError(
            f"{first.place}: the label {first.label!r} is in the first row alone, as a heading is: "
            f"give `--columns {columns[0]}` if it is one, else `--columns {columns[1]}`"
        )


def _item(
    path: Path,
    line: int,
    row: Sequence[str],
    width: int,
    places: Mapping[str, int],
    header: tuple[str, ...] | None,
) -> TextItem:
    if len(row) != width:
        raise UserError(
            f"{path}:{line}: must have {width} columns like the row before, got {len(row)}"
        )
    texts = tuple(row[places[name]] for name in ("text", "pair") if name in places)
    if not all(text.strip() for text in texts):
        raise UserError(f"{path}:{line}: the text is empty")
    where = places.get("label")
    label = None if where is None else row[where].strip()
    if label == "":
        raise UserError(f"{path}:{line}: the label is empty")
    label = None if label in _NONE else label
    return TextItem(str(path), line, texts, label, tuple(row), where, header)


def _places(
    path: Path,
    line: int,
    row: Sequence[str],
    columns: Columns,
    header: Mapping[str, int] | None,
) -> dict[str, int]:
    """The column of each field, not negative."""
    if len(row) == 1 and has_commas(path):
        raise UserError(
            f"{path}:{line}: columns must be separated by tabs, got none in a file named as a "
            "table with commas; convert it"
        )
    if columns:
        places = {field: column_number(columns, field, header, 0) for field in columns}
        places.setdefault("text", 0)
    elif len(row) in _USUAL:
        places = {field: number for number, field in enumerate(_USUAL[len(row)])}
    else:
        raise UserError(
            f"{path}:{line}: has {len(row)} columns; name them by `--columns text=0,label=1`"
        )
    for field, number in places.items():
        if not -len(row) <= number < len(row):
            raise UserError(
                f"{path}:{line}: has no column {number} (`{field}`), only {len(row)} columns"
            )
    found = {field: number % len(row) for field, number in places.items()}
    for field, number in found.items():
        if list(found.values()).count(number) > 1:
            raise UserError(
                f"`--columns` must give each of {', '.join(found)} its own column, got "
                f"{number} for `{field}` and another"
            )
    return found


_USUAL_KEYS = {"text": "text", "label": "label"}


@dataclass(frozen=True)
class ObjectItem(TextItem):
    """A text or a pair of texts from an object; ``given`` is the raw object."""

    given: Mapping[str, Any] | None = None


@formats.register("json_lines")
class JsonLines(Format):
    """One JSON object per line: one or two texts and a label, under keys of any name.

    `--columns` names the keys, as in ``text=sentence1,pair=sentence2,label=label`` (AFQMC and CMNLI
    of CLUE); without it they are ``text`` and ``label``. A list of texts is read as one, with
    blanks between them. A label is a text or a whole number; null, ``-`` (annotators did not agree,
    as in SNLI), ``-1``, ``-100`` (no class) or a missing key mean no label. Other keys are kept.
    """

    suffix = ".jsonl"
    holds = ObjectItem

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[ObjectItem]:
        """See `Format`. Every line contains an object; none is blank."""
        keys = keys_of(columns)
        for line, text in numbered_lines(path, "objects"):
            with one_row():
                given = parse_json(path, text, line)
                yield _object_item(path, line, given, keys)

    @staticmethod
    def write(
        path: Path, items: Sequence[ObjectItem], predictions: Sequence[str], columns: Columns
    ) -> None:
        """See `Format`: the same objects, with the predicted label, a number where it was one."""
        key, rows = keys_of(columns)["label"], []
        for item, prediction in zip(items, predictions, strict=True):
            number = isinstance(item.given.get(key), int)
            label = int(prediction) if number and prediction.isdigit() else prediction
            rows.append({**item.given, key: label})
        write_objects(path, rows)


def keys_of(columns: Columns) -> dict[str, str]:
    """The key of each field, by `--columns`."""
    check_fields(columns, FIELDS)
    keys = {**_USUAL_KEYS, **columns}
    for field, key in keys.items():
        if list(keys.values()).count(key) > 1:
            raise UserError(
                f"`--columns` must give each of {', '.join(keys)} its own key, got {key!r} "
                f"for `{field}` and another"
            )
    return keys


def _object_item(path: Path, line: int, given: Any, keys: Mapping[str, str]) -> ObjectItem:
    where = f"{path}:{line}"
    texts = tuple(_text(where, given, keys[f]) for f in ("text", "pair") if f in keys)
    label = label_of(where, given.get(keys["label"]), keys["label"])
    return ObjectItem(str(path), line, texts, label, (), None, None, given)


def _text(where: str, given: Any, key: str) -> str:
    parts = given.get(key) if isinstance(given, dict) else None
    if not isinstance(parts, list):
        return get_value(where, given, key, str)
    if not parts:
        raise UserError(f"{where}: `{key}` is empty")
    return " ".join(check_kind(where, part, f"each of `{key}`", str) for part in parts)


def label_of(where: str, label: Any, key: str) -> str | None:
    """A label as text; None if there is none.

    Raises:
        UserError: for an empty one, or one of another type; begins with ``where``.
    """
    if label is None:
        return None
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise UserError(f"{where}: `{key}` must be a text or a whole number, got {shown(label)}")
    name = str(label).strip()
    if not name:
        raise UserError(f"{where}: `{key}` is empty")
    return None if name in _NONE else name


@formats.register("table")
class Table(JsonLines):
    """Parquet and Arrow files: one or two texts and a label in columns of any name.

    A file is an Arrow one unless its name ends in ``.parquet``. `--columns` names them, as in
    ``text=premise,pair=hypothesis,label=label``; without it they are ``text`` and ``label``. A
    label is a text, a class whose name the file holds (as those of Hugging Face's datasets do), or
    a whole number; a missing one, ``-``, ``-1``, ``-100``, or no such column mean no label (a
    column that `--columns` names must be there). Predictions are written as JSON lines with these
    columns.
    """

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[ObjectItem]:
        """See `Format`; lines are rows, from 1."""
        keys = keys_of(columns)
        check_files(path)
        schema = schema_of(path)
        texts = [keys[field] for field in ("text", "pair") if field in keys]
        for column in texts:
            check_text(path, column, schema)
        labelled = "label" in columns or keys["label"] in schema.names
        wanted = [*texts, keys["label"]] if labelled else texts
        if labelled:
            from pyarrow import types

            kind = column_type(path, keys["label"], schema)
            if not (types.is_integer(kind) or types.is_null(kind)):
                check_text(path, keys["label"], schema)
        line = 0
        for line, given in table_rows(path, wanted, schema):
            with one_row():
                yield _object_item(path, line, given, keys)
        if not line:
            raise UserError(f"{path}: contains no rows")


_MARKS = {"span1": ("_", "_"), "span2": ("[", "]")}


@formats.register("clue_wsc")
class ClueWsc(JsonLines):
    """WSC of CLUE: does a pronoun refer to a noun phrase? One JSON object per line.

        {"text": TEXT, "label": "true", "target": {"span1_text": NOUNS, "span1_index": NUMBER,
                                                   "span2_text": PRONOUN, "span2_index": NUMBER}}

    An index counts characters from 0. The text is read with the first span between ``_`` and ``_``
    and the second between ``[`` and ``]``, so that a head for single texts can identify them.
    """

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[ObjectItem]:
        """See `Format`."""
        check_columns(list(columns), "WSC")
        for item in JsonLines.read(path, {}):
            with one_row():
                text = _marked(item.place, item.texts[0], item.given)
                yield dataclasses.replace(item, texts=(text,))


def _marked(where: str, text: str, given: Mapping[str, Any]) -> str:
    """The text with marks around both spans."""
    target, places = get_value(where, given, "target", dict), []
    for name, (before, after) in _MARKS.items():
        span = get_value(where, target, f"{name}_text", str)
        begin = get_value(where, target, f"{name}_index", int)
        end = begin + len(span)
        if begin < 0 or text[begin:end] != span:
            raise UserError(
                f"{where}: `{name}_text` must be the text at `{name}_index`, got {shown(span)} at "
                f"{begin}, where the text has {shown(text[max(begin, 0) : max(end, 0)])}"
            )
        places.append((begin, end, before, after))
    for begin, end, before, after in sorted(places, reverse=True):
        text = f"{text[:begin]} {before} {text[begin:end]} {after} {text[end:]}"
    return text


_COLUMNS = {"text": "sentence1", "pair": "sentence2", "label": "gold_label"}
_TRANSLATED = {"text": "premise", "pair": "hypo", "label": "label"}
_LABELS = {"contradictory": "contradiction"}


@formats.register("xnli")
class Xnli(Tsv):
    """XNLI as it was published (Conneau et al., 2018): all languages in one file, with headings.

    Of ``xnli.dev.tsv`` or ``xnli.test.tsv`` that is given as ``de=FILE``, the rows of German are
    read. The machine-translated training text, ``multinli.train.de.tsv``, is of one language, and
    its ``contradictory`` is read as ``contradiction``. The label ``-`` means that annotators did
    not agree.
    """

    @staticmethod
    def read(path: Path, columns: Columns) -> Iterator[TextItem]:
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
    def read_language(cls, path: Path, columns: Columns, lang: str) -> Iterator[TextItem]:
        """See `Format`."""
        others: dict[str, None] = {}
        found = False
        for item in cls.read(path, columns):
            named = "language" in (item.header or ())
            language = item.row[item.header.index("language")] if named else lang
            if language == lang:
                found = True
                yield item
            else:
                others[language] = None
        if not found:
            raise UserError(
                f"{path}: has no rows of language {lang!r}, only of {', '.join(others)}"
            )
