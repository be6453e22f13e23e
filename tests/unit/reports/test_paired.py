"""Differences over seeds, and when they can be told from chance."""

import pytest

from fairseq_xling.reports.paired import (
    RowClaim,
    claim_verdicts,
    claims_table,
    difference_verdict,
    paired_difference,
    paired_verdict,
    shown_p,
)


@pytest.mark.filterwarnings("error")
def test_differences_that_are_equal_but_for_rounding_are_not_tested():
    better = [100 * count / 30 for count in (20, 22, 25)]
    worse = [100 * count / 30 for count in (17, 19, 22)]
    found = paired_difference(better, worse)
    assert len(set(found["gaps"])) > 1 and found["p"] is found["low"] is None
    assert paired_verdict("X helps.", better, worse).endswith("Not enough to tell.")


def test_the_interval_of_small_figures_is_not_taken_for_rounding():
    found = paired_difference([3e-6, 5e-6, 4e-6], [1e-6, 2e-6, 3e-6])
    assert found["p"] == pytest.approx(0.0742, abs=1e-4)


def test_a_probability_that_is_no_number_is_not_called_small():
    assert shown_p(float("nan")) == "= nan"


FIGURES = {"A": [3.0, 4.1, 5.0], "B": [1.0, 2.0, 3.0], "C": [1.2, 1.9, 3.0]}


def test_a_difference_that_was_tested_before_has_the_same_verdict():
    expected = paired_verdict("X helps.", FIGURES["A"], FIGURES["B"], "F1", 2)
    found = paired_difference(FIGURES["A"], FIGURES["B"])
    assert difference_verdict("X helps.", found, "F1", 2) == expected


def test_claims_are_decided_by_the_figures_of_their_rows():
    claims = [RowClaim("X.", "A", "B"), RowClaim("Y.", "B", "A"), RowClaim("Z.", "C", "B")]
    kept, turned, undecided = claim_verdicts(claims, FIGURES)
    assert kept.startswith("X. Here: +2.0 points, A minus B (95 % interval +1.9 to +2.2)")
    assert turned.startswith("Y. Here: -2.0 points, B minus A (95 % interval -2.2 to -1.9)")
    endings = ("Kept.", "Not kept.", "Not enough to tell.")
    for found, ending in zip((kept, turned, undecided), endings, strict=True):
        assert found.endswith(f". {ending}")


def test_rows_that_are_said_to_be_alike_are_not_if_they_differ_either_way():
    claims = [RowClaim("X.", *rows, alike=True) for rows in ("AB", "BA", "CB")]
    endings = ["Not kept.", "Not kept.", "Not enough to tell."]
    for found, ending in zip(claim_verdicts(claims, FIGURES), endings, strict=True):
        assert found.endswith(f". {ending}")
    _, rows = claims_table(claims, {"bits": FIGURES}, {"bits": 1}, {"bits"})
    assert [row[2].rpartition(": ")[2] for row in rows] == [
        *("not kept", "not kept", "not enough to tell"),
    ]


def test_a_table_of_claims_has_a_cell_for_each_measure_and_leaves_out_what_was_not_run():
    claims = [RowClaim("X.", "A", "B"), RowClaim("Z.", "C", "B"), RowClaim("None.", "A", "D")]
    other = {"A": [1.0, 1.0], "B": [3.0, 3.0]}
    header, rows = claims_table(claims, {"F1": FIGURES, "bits": other}, {"F1": 1, "bits": 2})
    assert header == ["claim", "rows", "F1", "bits"]
    assert rows == [
        ["X.", "A - B", "+2.0 [+1.9, +2.2], p < 0.001: kept", "-2.00: not enough to tell"],
        ["Z.", "C - B", "+0.0 [-0.3, +0.4], p = 0.742: not enough to tell", None],
    ]


def test_where_less_is_better_a_claim_is_kept_if_the_difference_is_below_zero():
    claims = [RowClaim("X.", "B", "A"), RowClaim("Y.", "A", "B"), RowClaim("Z.", "C", "B")]
    _, rows = claims_table(claims, {"bits": FIGURES}, {"bits": 2}, {"bits"})
    assert [row[2] for row in rows] == [
        "-2.03 [-2.18, -1.89], p < 0.001: kept",
        "+2.03 [+1.89, +2.18], p < 0.001: not kept",
        "+0.03 [-0.35, +0.41], p = 0.742: not enough to tell",
    ]


def test_claims_of_rows_without_figures_are_left_out():
    assert claim_verdicts([RowClaim("X.", "A", "D"), RowClaim("Y.", "D", "A")], FIGURES) == []
