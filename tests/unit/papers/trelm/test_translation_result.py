import copy

import pytest

from fairseq_xling.files import write_json
from fairseq_xling.results.result import find_results, make_page
from tests.unit.studies.pages.records import RECORDS


@pytest.mark.row("T18")
def test_a_report_has_both_directions_each_with_its_sentences(tmp_path):
    record = copy.deepcopy(RECORDS["trelm-run"])
    (one,) = record["migrations"]
    name = "identity, backward"
    one["orderings"].append(name)
    one["translation"][name] = {**one["translation"]["identity"], "precisions": [50.0, 0, 0, 0]}
    one["samples_backward"] = [{"source": "b", "reference": "a", name: "c"}]
    write_json(tmp_path / "results.json", record)
    (found,) = find_results(tmp_path / "results.json")
    page = make_page(found)
    sections = {section.title: section for section in page.sections}
    table = sections["Translation with the forward and backward model"]
    cells = [[str(cell) for cell in row[2:4]] for row in table.rows]
    assert cells == [["identity", "60.0"], [name, "50.0"]]
    assert sections["Translations to de, seed 1"].rows == [["a", "b", "a"]]
    back = sections["Translations from de, seed 1"]
    assert (back.header, back.rows) == (["source", "reference", name], [["b", "a", "c"]])
    measured = {one.what: one.value for one in page.measured if one.row == "T18"}
    assert measured == {
        "1-gram precision to de in the source's order, percent": 60.0,
        "1-gram precision from de in its own order, percent": 50.0,
    }
