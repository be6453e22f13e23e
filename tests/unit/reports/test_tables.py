import csv

from fairseq_xling.reports.tables import csv_text, markdown_table, text_table


def test_columns_of_a_text_table_are_aligned():
    lines = text_table(["name", "value"], [["a", 1.0], ["longer", 1234]]).splitlines()
    assert lines == ["name    value", "a       1.000", "longer  1,234"]


def test_a_table_without_rows_still_has_its_header():
    assert text_table(["a", "b"], []) == "a  b"
    assert markdown_table(["a", "b"], []).splitlines() == ["| a | b |", "|:---|:---|"]


def test_csv_keeps_every_digit():
    text = csv_text(["a", "b, c"], [[0.1234567890123, 'say "hi"'], [None, 3]])
    rows = list(csv.reader(text.splitlines()))
    assert rows == [["a", "b, c"], ["0.1234567890123", 'say "hi"'], ["", "3"]]
