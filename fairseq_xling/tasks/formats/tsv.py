"""One row per line, tab-separated columns: one or two texts and a label.

Without `--columns`, two columns are a text and its label, three are two texts and their label, and
a single one is a text without label. With headings in `--columns`, the first line contains them;
without, a first line of headings is refused. The label ``-`` means that there is none: annotators
did not agree, as in SNLI.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, read_lines
from fairseq_xling.sentences import has_commas
from fairseq_xling.tasks.bad_rows import one_row
from fairseq_xling.tasks.formats import Format, formats, refuse_headings
from fairseq_xling.tasks.items import Item, column_number, is_number

_USUAL = {1: ("text",), 2: ("text", "label"), 3: ("text", "pair", "label")}
FIELDS = ("text", "pair", "label")
UNDECIDED = "-"


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
    """See the module's docstring."""

    suffix = ".tsv"
    holds = TextItem

    @staticmethod
    def read(path: Path, columns: Mapping[str, str]) -> Iterator[TextItem]:
        """See `Format`."""
        for field in columns:
            if field not in FIELDS:
                raise UserError(f"`--columns` must name {', '.join(FIELDS)}, got {field!r}")
        names, header, places = None, None, None
        named = not all(map(is_number, columns.values()))
        width = 0
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
                yield _item(path, line, row, width, places, names)
        if places is None:
            raise UserError(f"{path}: contains no rows")

    @staticmethod
    def write(
        path: Path,
        items: Sequence[TextItem],
        predictions: Sequence[str],
        columns: Mapping[str, str],
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
    label = None if label == UNDECIDED else label
    return TextItem(str(path), line, texts, label, tuple(row), where, header)


def _places(
    path: Path,
    line: int,
    row: Sequence[str],
    columns: Mapping[str, str],
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
