import json
import math

import pytest

from fairseq_xling.analysis.shift_grid import NO_SHIFT, Shift
from fairseq_xling.results.result import find_results, make_page
from fairseq_xling.verbs.parts.mean_difference_result import draw_grid, write_single, write_table

SUMMARY = {
    **{"pair": ("en", "de"), "sizes": (100, 90), "common": 10, "split": "train"},
    **{"mean_tokens": (1000, 900), "lines": 5, "scored": True},
}


def scores(rate, precision):
    counts = {"tokens": 10, "shared": 0, "converted": 0, "cut": 2}
    bleu = {"precision": precision, "bleu": precision, "brevity_penalty": 1.0, "signature": "s"}
    return {"convert_rate": rate, **counts, **bleu}


@pytest.fixture
def found():
    return {
        NO_SHIFT: scores(None, 1.0),
        Shift(1, 2.0): scores(0.5, 10.0),
        Shift(2, 2.0): scores(1.0, 30.0),
        Shift(2, -1.0): scores(0.0, 0.0),
    }


def test_the_table_says_what_was_chosen_and_how_large_the_vocabularies_are(found, tmp_path, capsys):
    write_table(tmp_path, SUMMARY, found, Shift(1, 2.0), {"command": "x"})
    printed = capsys.readouterr().out
    assert "|V_en| = 100, |V_de| = 90, in both 10" in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["best", "2", "2", "1.000", "30.000", "30.000"] in rows
    assert ["fixed", "1", "2", "0.500", "10.000", "10.000"] in rows
    # Layers down, alphas across in the order given, room for cells that were not run.
    place = rows.index(["layer", "alpha", "2", "alpha", "-1"])
    assert rows[place + 1 : place + 3] == [["1", "0.500"], ["2", "1.000", "0.000"]]
    assert "(2 lines are longer than the model's positions, and were cut)" in printed
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["chosen"]["best"]["layer"] == 2 and record["provenance"] == {"command": "x"}
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines[0].startswith("layer,alpha,convert_rate,precision,bleu")
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["0", "0.0", ""],
        ["1", "2.0", "0.5"],
        ["2", "-1.0", "0.0"],
        ["2", "2.0", "1.0"],
    ]


def test_the_page_has_the_cells_and_what_was_chosen(found, tmp_path):
    write_table(tmp_path, SUMMARY, found, Shift(1, 2.0), {"command": "x"})
    page = make_page(*find_results(tmp_path))
    assert len(page.tables["cells"][1]) == 4
    assert {one.what: one.value for one in page.measured if one.row == "S12"} == {
        "BLEU-1 precision (%), en to de, best: layer 2, alpha 2": 30.0,
        "BLEU-1 precision (%), en to de, fixed: layer 1, alpha 2": 10.0,
    }


@pytest.mark.row("S12")
def test_nothing_that_shows_a_language_is_shown_as_nan(found, tmp_path, capsys):
    write_table(tmp_path, SUMMARY, found, None, {})
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("no shift")]
    assert row.split() == ["no", "shift", "-", "-", "nan", "1.000", "1.000"]
    assert json.loads((tmp_path / "results.json").read_text())["cells"][0]["convert_rate"] is None


def test_the_figure_has_a_line_for_each_alpha_by_layer(found, tmp_path):
    rate, precision = drawn(found, tmp_path)
    assert rate == {"alpha 2": [[1, 2], [0.5, 1]], "alpha -1": [[2], [0]], "best": [[2, 2], [0, 1]]}
    assert precision["no shift"][1] == [1, 1] and "no shift" not in rate
    found[Shift(2, -1.0)] = scores(None, 0.0)
    assert math.isnan(drawn(found, tmp_path)[0]["alpha -1"][1][0])


def drawn(found, tmp_path):
    """The lines of each panel, x and y by label."""
    write_table(tmp_path, SUMMARY, found, None, {})
    record = json.loads((tmp_path / "results.json").read_text())
    return [
        {
            line.get_label().partition(":")[0]: [list(xy) for xy in line.get_data()]
            for line in axes.get_lines()
        }
        for axes in draw_grid(record["cells"], record["chosen"]).axes
    ]


def test_one_translation_without_reference_has_no_bleu(tmp_path, capsys):
    summary = {**SUMMARY, "scored": False}
    counts = {"convert_rate": 0.25, "tokens": 8, "shared": 0, "converted": 2, "cut": 0}
    write_single(tmp_path / "out.txt", summary, Shift(3, 1.5), counts, {})
    printed = capsys.readouterr().out
    assert "BLEU" not in printed and "shifted  3      1.5" in printed
    assert json.loads((tmp_path / "out.txt.json").read_text())["scores"] == counts
