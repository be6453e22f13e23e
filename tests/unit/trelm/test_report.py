from fairseq_xling.trelm.report import _figure
from tests.unit.runs.pages.records import RECORDS


def test_the_curves_of_the_report_have_names_in_words():
    (migration,) = RECORDS["trelm-run"]["migrations"]
    svg = _figure(migration)
    for name in ("MLM de, training", "MLM de, validation", "all together, training"):
        assert name in svg
    assert "_loss" not in svg and "best" not in svg
