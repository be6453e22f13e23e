import itertools

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.studies.pages.rows import GROUPS, check_codes, spec_rows


def test_every_row_has_a_title_a_source_and_its_place():
    rows = spec_rows()
    numbers = {
        group: [int(code[1:]) for code in codes]
        for group, codes in itertools.groupby(rows, key=lambda code: code[0])
    }
    assert list(numbers) == list(GROUPS)
    assert {group: len(found) for group, found in numbers.items()} == {
        "G": 22, "D": 9, "P": 11, "T": 27, "A": 12, "S": 16, "C": 17, "E": 14,
    }  # fmt: skip
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
    assert all(row.title and row.source and code == row.code for code, row in rows.items())
    assert len({row.title for row in rows.values()}) == len(rows)


def test_an_unknown_row_is_answered_with_near_ones():
    with pytest.raises(UserError, match=r"unknown row 'S99'; did you mean 'S9'"):
        check_codes(["S8", "S99"])
