"""Probing rows written from an annotated file."""

import json
from collections.abc import Mapping
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write
from fairseq_xling.tasks.probing.converters import converters


def convert(
    source: str | Path, output: str | Path, task: str, columns: Mapping[str, str]
) -> tuple[int, int]:
    """Write the rows of ``task`` for an annotated file; returns the numbers of texts and targets.

    A sentence without targets has no row. White space inside a word is left out.

    Args:
        source: in the form that the task's converter reads; gzip if it ends in ``.gz``.
        columns: of a tagged file, as in `tasks.formats.conll`.

    Raises:
        UserError: for an unknown task, a malformed row, or missing annotation.
    """
    rows, texts, targets = converters[task](Path(source), columns), 0, 0
    with atomic_write(output, "w") as file:
        for words, found in rows:
            if found:
                text = " ".join("".join(word.split()) for word in words)
                row = {"text": text, "targets": found}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                texts, targets = texts + 1, targets + len(found)
        if not texts:
            raise UserError(f"{source}: contains nothing for the task {task!r}")
    return texts, targets
