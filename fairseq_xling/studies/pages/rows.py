"""The rows of the specification: their titles and sections of the papers.

Tests, presets and results name a row by its id (``S8``); this is the list of valid ids.
"""

import csv
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fairseq_xling.core.registry import unknown_name

TESTS_KIND, TESTS_FORMAT = "spec-tests", 1  # of the file that `pytest --rows FILE` writes
_FILE = Path(__file__).with_name("rows.tsv")
GROUPS = {
    "G": "Gaps and contradictions of the papers",
    "D": "Data, vocabulary, alignment",
    "P": "Pre-training objectives",
    "T": "Migration to another language (TreLM)",
    "A": "Sharing and anchors (Emerging Structure)",
    "S": "Alignment and similarity after training",
    "C": "Contextualised representations through reordering (CLCR)",
    "E": "Downstream evaluation",
}


@dataclass(frozen=True)
class SpecRow:
    """One row.

    Attributes:
        code: its id, a letter of `GROUPS` and a number.
        title: a short title of ours.
        source: paper and section.
        paper: the paper's own figure, if there is one to compare with.
        result: what its result is: a ``figure`` that a run measures, or, for a rule or a part of a
            model of which no paper reports a figure, its ``tests``.
    """

    code: str
    title: str
    source: str
    paper: str
    result: str

    @property
    def group(self) -> str:
        """What rows of this letter are about."""
        return GROUPS[self.code[0]]


@functools.cache
def spec_rows() -> dict[str, SpecRow]:
    """All rows by id, in the order of the specification.

    >>> spec_rows()["S8"].title, len({row.group for row in spec_rows().values()})
    ('Linear CKA', 8)
    """
    with open(_FILE, encoding="utf-8", newline="") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(lines)
        rows = [SpecRow(*line) for line in lines]
    return {row.code: row for row in rows}


def check_codes(codes: Iterable[str]) -> tuple[str, ...]:
    """``codes`` as a tuple."""
    codes = tuple(codes)
    for code in codes:
        if code not in spec_rows():
            raise unknown_name("row", code, list(spec_rows()))
    return codes


def parse_codes(text: str) -> tuple[str, ...]:
    """Ids separated by commas or spaces.

    >>> parse_codes("T5, T6 T8")
    ('T5', 'T6', 'T8')
    """
    return check_codes(filter(None, re.split(r"[,\s]+", text)))
