"""Tables declared over rows."""

import statistics

from fairseq_xling.reports.pivot import Contrast, OverSeeds, Table, pivot, plain_table
from fairseq_xling.reports.rows import from_json, to_json

ROWS = [
    {"row": row, "name": row.upper(), "target": target, "seed": seed, "measure": measure}
    | {"value": 10 * n + seed + 0.5 * (target == "fr") + (measure == "LAS"), "chance": 7}
    for n, row in enumerate("ab")
    for target in ("de", "fr")
    for seed in (1, 2)
    for measure in ("UAS", "LAS")
]


def test_a_cell_is_the_mean_of_each_seed_over_all_that_is_not_named():
    """Against loops over every row."""
    header, lines = pivot(ROWS, Table({"row": "row"}))
    assert header == ["row", "UAS", "LAS"]
    for row, *cells in lines:
        for measure, cell in zip(header[1:], cells, strict=True):
            own = [one for one in ROWS if one["row"] == row and one["measure"] == measure]
            by_seed = [
                statistics.fmean(one["value"] for one in own if one["seed"] == seed)
                for seed in (1, 2)
            ]
            assert list(cell.values) == by_seed
            assert str(cell) == (
                f"{statistics.fmean(by_seed):.3f} ± {statistics.stdev(by_seed):.3f}"
            )


def test_headings_have_their_order_and_digits_and_further_columns():
    table = Table(
        {"row": "row", "": "name", "seeds": "seeds"},
        "{measure}, {target}",
        order=["LAS, fr", "UAS, de", "none"],
        digits={"LAS": 1, "UAS, de": None},
        after={"by chance": "chance"},
    )
    header, lines = pivot(ROWS, table)
    assert header == ["row", "", "seeds", "LAS, fr", "UAS, de", "none", "by chance"]
    assert [str(one) for one in lines[0]] == ["a", "A", "1,2", "3.0 ± 0.7", "2", "None", "7"]


def test_a_contrast_is_the_mean_difference_to_its_line_where_both_have_a_figure():
    lacking = [one for one in ROWS if (one["row"], one["target"]) != ("b", "fr")]
    table = Table({"row": "row"}, "{measure}, {target}", contrast=Contrast("a", measures=["LAS"]))
    header, lines = pivot(lacking, table)
    assert header == ["row", "UAS, de", "LAS, de", "UAS, fr", "LAS, fr", "Δ LAS"]
    assert [str(line[-1]) for line in lines] == ["+0.000", "+10.000"]
    assert pivot(ROWS[:8], table)[0][-1] == "LAS, fr"  # with one line there is nothing to compare


def test_without_a_column_rows_are_listed_as_they_are():
    rows = [{"row": "a", "setting": "lr 1"}, {"row": "b", "kind": "x"}]
    listed = pivot(rows, Table({"": "row", "what": "setting"}, ""))
    assert listed == (["", "what"], [["a", "lr 1"], ["b", None]])


def test_the_last_line_has_the_means_of_the_others():
    rows = [{"layer": n, "measure": "P@1", "value": n / 2} for n in range(3)]
    _, lines = pivot(rows, Table({"layer": "layer"}, mean=True))
    assert [[str(one) for one in line] for line in lines][-1] == ["mean", "0.500"]
    assert len(pivot(rows[:1], Table({"layer": "layer"}, mean=True))[1]) == 1


def test_texts_and_counts_are_shown_as_they_are():
    rows = [
        {"row": "a", "measure": "failure", "value": "no"},
        {"row": "a", "measure": "words", "value": 7},
        {"row": "a", "measure": "P@1", "value": 1.0},
    ]
    assert pivot(rows, Table({"row": "row"}))[1] == [["a", "no", 7, OverSeeds((1.0,), 3)]]


def test_a_plain_table_has_what_differs():
    assert plain_table(ROWS).rows == {"row": "row", "target": "target", "name": "name"}
    assert pivot(ROWS[:1], plain_table(ROWS[:1]))[0] == ["row", "UAS"]


def test_rows_return_from_json_as_they_were():
    rows = [*ROWS, {"row": "c", "value": 1, "text": "x"}, {"row": "c", "value": 1.0}]
    back = from_json(to_json(rows))
    assert back == rows
    assert [type(one["value"]) for one in back] == [type(one["value"]) for one in rows]
