"""Tables as aligned text, Markdown and CSV."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from fairseq_xling.core.errors import visible
from fairseq_xling.core.files import atomic_write


def cell(value: Any, digits: int = 3) -> str:
    """A value as displayed in a table.

    >>> cell(0.12345), cell(1234567), cell("en"), cell(None), cell(41.0)
    ('0.123', '1,234,567', 'en', '', '41.000')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else visible(str(value))


def text_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns aligned by spaces: words to the left, numbers to the right.

    >>> print(text_table(["pair", "P@1"], [["en-de", 0.5], ["en-zh", 0.25]]))
    pair     P@1
    en-de  0.500
    en-zh  0.250
    """
    words = [any(isinstance(row[i], str) for row in rows) for i in range(len(header))]
    # The header as a row: tabulate pads headers by two more spaces.
    table = tabulate(
        [list(map(visible, header)), *([cell(value) for value in row] for row in rows)],
        tablefmt="plain",
        colalign=["left" if left else "right" for left in words],
        disable_numparse=True,
        preserve_whitespace=True,
    )
    return "\n".join(line.rstrip() for line in table.splitlines())


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; numbers are right-aligned.

    >>> print(markdown_table(["setting", "MRR"], [["A1", 0.5]]))
    | setting | MRR |
    |:---|---:|
    | A1 | 0.500 |
    """
    words = [not rows or any(isinstance(row[i], str) for row in rows) for i in range(len(header))]
    lines = [header, *([cell(value) for value in row] for row in rows)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    marks = "|" + "|".join(":---" if left else "---:" for left in words) + "|"
    return "\n".join([texts[0], marks, *texts[1:]])


def write_markdown(
    path: str | Path, header: Sequence[str], rows: Sequence[Sequence[Any]], notes: Sequence[str]
) -> None:
    """The table with its notes as a list below, atomically."""
    with atomic_write(path, "w") as file:
        file.write(markdown_table(header, rows) + "\n\n")
        file.write("\n".join(f"- {note}" for note in notes) + "\n")


def csv_text(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as CSV, its numbers unrounded.

    >>> csv_text(["a", "b"], [[1, None]])
    'a,b\\n1,\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
