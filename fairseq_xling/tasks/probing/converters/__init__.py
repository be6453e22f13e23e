"""Probing rows made from annotated files: one task each, found by name.

A converter reads a file and yields the words of each sentence with its targets. A target has a
``span1``, perhaps a ``span2``, half-open in words, and a ``label``: a text, or a list of texts
where several hold, or none. To add a task, add a file here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairseq_xling.files import read_lines
from fairseq_xling.registry import Registry

Target = dict[str, Any]
Rows = Iterator[tuple[Sequence[str], list[Target]]]
# ``convert(path, columns)``; raises a UserError that names file and line.
Converter = Callable[[Path, Mapping[str, str]], Rows]

# The second folder has the tasks whose files `fairseq_xling.structures` reads.
converters: Registry[Converter] = Registry(
    "`--task`", __name__, "fairseq_xling.structures.converters"
)


def groups(path: Path, left_out: tuple[str, ...] = ()) -> Iterator[tuple[int, list[str]]]:
    """Lines that follow each other without a blank one, and the number of the first, from 1.

    Args:
        left_out: lines that begin with one of these are as blank ones.
    """
    lines: list[str] = []
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith(left_out):
            lines.append(line)
        elif lines:
            yield number - len(lines), lines
            lines = []
    if lines:
        yield number + 1 - len(lines), lines
