"""The sentences of labelled pairs as plain text, so that they can be encoded (CLCR, 4.2)."""

import contextlib
from pathlib import Path

from fairseq_xling.errors import UserError
from fairseq_xling.files import atomic_write, check_files
from fairseq_xling.studies.clcr.classify_config import SIDES
from fairseq_xling.tasks.encode import on_one_line
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.items import parse_columns


def write_texts(source: Path, output: str, form: str = "", columns: str = "") -> int:
    """Write ``OUTPUT.premise`` and ``OUTPUT.hypothesis``, a line per pair; returns their number.

    Raises:
        UserError: for a malformed file, or a row of one text.
    """
    check_files(source)
    count = 0
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(atomic_write(f"{output}.{side}", "w")) for side in SIDES]
        for item in find_format("tsv", form).read(source, parse_columns(columns)):
            if len(item.texts) != len(SIDES):
                raise UserError(
                    f"{item.place}: must have a premise and a hypothesis, got one text; name both "
                    "with `--columns text=0,pair=1,label=2`"
                )
            for file, text in zip(files, item.texts, strict=True):
                file.write(on_one_line(text) + "\n")
            count += 1
    return count
