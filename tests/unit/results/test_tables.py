import csv

from fairseq_xling.results.tables import markdown_table, text_table, write_csv


def test_columns_of_a_text_table_are_aligned():
    lines = text_table(["name", "value"], [["a", 1.0], ["longer", 1234]]).splitlines()
    assert lines == ["name    value", "a       1.000", "longer  1,234"]


def test_a_table_without_rows_still_has_its_header():
    assert text_table(["a", "b"], []) == "a  b"
    assert markdown_table(["a", "b"], []).splitlines() == ["| a | b |", "|:---|:---|"]


def test_csv_keeps_every_digit(tmp_path):
    write_csv(tmp_path / "t.csv", ["a", "b, c"], [[0.1234567890123, 'say "hi"'], [None, 3]])
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows == [["a", "b, c"], ["0.1234567890123", 'say "hi"'], ["", "3"]]
