"""All results of CLCR on one page, in the order of the paper."""

from pathlib import Path

from tests.unit.studies.pages.records import RECORDS

from fairseq_xling.papers.clcr.run_result import JOINS
from fairseq_xling.results.page import Result, write_page
from fairseq_xling.results.result import KINDS, make_joined


def result(kind, **more):
    return Result(Path(f"{kind}.json"), RECORDS[kind] | more)


def test_every_kind_of_clcr_is_joined():
    assert {name for name in KINDS if name.startswith("clcr-")} | {"probing"} == {*JOINS}


def test_results_stand_in_the_order_of_the_paper(tmp_path):
    kinds = ["clcr-classify", "clcr-order", "clcr-curves"]
    results = [*map(result, kinds), result("probing", row="C16"), result("transfer")]
    [(joined, page)] = make_joined(results)
    titles = [section.title for section in page.sections]
    assert [title.rpartition(": ")[2] for title in titles] == [
        *("clcr-curves", "clcr-curves", "clcr-order", "clcr-classify", "clcr-classify"),
        *("probing", "probing"),
    ]
    assert "clcr-order-table" in page.tables and "CLCR, 4.2" in page.source
    write_page(tmp_path / "page.html", joined, page)
    text = (tmp_path / "page.html").read_text()
    assert text.count("<svg") == 4 and "Order BLEU: clcr-order" in text


def test_a_single_result_and_probes_of_an_encoder_have_no_page_together():
    assert make_joined([result("clcr-order"), result("probing")]) == []
