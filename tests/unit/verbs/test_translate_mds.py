"""What `fairseq-xling translate mds` measured, as a record."""

import pytest

from fairseq_xling.analysis.shift_grid import NO_SHIFT, Shift, best_shift
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.rows import select
from fairseq_xling.verbs.parts.output import as_text
from fairseq_xling.verbs.translate_mds import record_of

SUMMARY = {
    **{"pair": ("en", "de"), "sizes": (100, 90), "common": 10, "split": "train"},
    **{"mean_tokens": (1000, 900), "lines": 5, "scored": True},
}


def scores(rate, precision):
    counts = {"tokens": 10, "shared": 0, "converted": 0, "neither": 4, "cut": 2}
    bleu = {"precision": precision, "bleu": precision, "brevity_penalty": 1.0, "signature": "s"}
    return {"convert_rate": rate, "other_languages": {"id": 3}, **counts, **bleu}


@pytest.fixture
def found():
    return {
        NO_SHIFT: scores(None, 1.0),
        Shift(1, 2.0): scores(0.5, 10.0),
        Shift(2, 2.0): scores(1.0, 30.0),
        Shift(2, -1.0): scores(0.0, 0.0),
    }


def grid(found):
    chosen = {"no shift": NO_SHIFT, "best": best_shift(found), "fixed": Shift(1, 2.0)}
    return record_of(SUMMARY, found, chosen)


def test_the_table_says_what_was_chosen_and_how_large_the_vocabularies_are(found):
    printed = as_text(grid(found))
    assert "|V_en| = 100, |V_de| = 90, in both 10" in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["best", "2", "2", "1.000", "30.000", "30.000"] in rows
    assert ["fixed", "1", "2", "0.500", "10.000", "10.000"] in rows
    # All tokens are of both languages, so nothing shows which it is.
    assert ["no", "shift", "0", "0", "1.000", "1.000"] in rows
    # Layers down, alphas across, room for cells that were not run.
    place = rows.index(["layer", "alpha", "2", "alpha", "-1"])
    assert rows[place + 1 : place + 3] == [["1", "0.500"], ["2", "1.000", "0.000"]]
    assert "(2 lines are longer than the model's positions, and were cut)" in printed
    assert "40.0% of the tokens are of neither language, of which occur in other" in printed


def test_every_score_of_a_shift_is_a_row_of_its_layer_and_alpha(found):
    own = select(grid(found).rows, {"layer": 2, "alpha": -1.0, "setting": None})
    assert {row["measure"]: row["value"] for row in own} == {
        **{"convert rate": 0.0, "BLEU-1 precision": 0.0, "BLEU-1": 0.0, "brevity penalty": 1.0},
        **{"tokens": 10, "shared": 0, "converted": 0, "neither": 4, "cut": 2},
        "in another language": 3,
    }


def test_the_figure_has_a_line_for_each_alpha_by_layer(found):
    def drawn():
        """The lines of each panel, x and y by label."""
        return [
            {
                line.get_label().partition(":")[0]: [list(xy) for xy in line.get_data()]
                for line in axes.get_lines()
            }
            for axes in parts(grid(found))[0].figure().axes
        ]

    rate, precision = drawn()
    assert rate == {"alpha 2": [[1, 2], [0.5, 1]], "alpha -1": [[2], [0]], "best": [[2, 2], [0, 1]]}
    assert precision["no shift"][1] == [1, 1] and "no shift" not in rate
    found[Shift(2, -1.0)] = scores(None, 0.0)
    assert "alpha -1" not in drawn()[0]


def test_one_translation_without_reference_has_no_bleu():
    counts = {"tokens": 8, "shared": 0, "converted": 2, "neither": 0, "cut": 0}
    counts |= {"convert_rate": 0.25, "other_languages": {}}
    cell = Shift(3, 1.5)
    printed = as_text(record_of({**SUMMARY, "scored": False}, {cell: counts}, {"shifted": cell}))
    assert "BLEU" not in printed and "shifted      3  1.5           0.250" in printed
