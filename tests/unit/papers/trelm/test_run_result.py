import copy

import numpy as np
import pandas
import pytest
from tests.unit.studies.pages.records import RECORDS

from fairseq_xling.cli import main
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.verbs.map import read_outcome
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.papers.trelm.results import _read_map
from fairseq_xling.papers.trelm.run_result import _losses, maps
from fairseq_xling.results.figures import to_svg
from fairseq_xling.results.frame import frame_from_json, frame_to_json
from fairseq_xling.results.result import find_results, make_page


def test_the_curves_of_the_report_have_names_in_words():
    svg = to_svg(_losses(frame_from_json(RECORDS["trelm-run"]["frame"])))
    for name in ("MLM de, training", "MLM de, validation", "all together, training"):
        assert name in svg
    assert "_loss" not in svg and "best" not in svg


def test_every_cell_about_a_map_comes_from_the_report_of_the_mapping_job(tmp_path):
    rng = np.random.default_rng(1)
    fixed = rng.standard_normal((200, 8)).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
    words, counts = [f"w{n}" for n in range(200)], np.arange(200, 0, -1)
    write_vectors(tmp_path / "u", Vectors(fixed, counts, words))
    write_vectors(tmp_path / "v", Vectors(fixed @ turn, counts, words))
    files = ["--source-vectors", tmp_path / "u", "--vectors", tmp_path / "v"]
    assert main(["map", "identical", *map(str, files), "--output", str(tmp_path / "out")]) == 0
    written = read_outcome(tmp_path / "out.json")
    (section,) = maps([{"target": "de", "maps": [_read_map(tmp_path / "out")]}])
    (row,) = section.rows
    cells = dict(zip(section.header, row, strict=True))
    assert cells["mean cosine"] == written["criterion"] == pytest.approx(1.0, abs=1e-3)
    assert cells["unmapped"] == written["criterion_unmapped"] < 0.95
    assert [cells[name] for name in ("target", "failed", "failed seeds")] == ["de", "no", "none"]
    assert cells["best seed"] == written["best_seed"]


@pytest.mark.row("T18")
def test_a_report_has_both_directions_each_with_its_sentences(tmp_path):
    record = copy.deepcopy(RECORDS["trelm-run"])
    (one,) = record["migrations"]
    name, frame = "identity, backward", frame_from_json(record["frame"])
    back = frame[frame["ordering"] == "identity"].assign(ordering=name)
    back.loc[back["measure"] == "1-gram precision", "value"] = 50.0
    record["frame"] = frame_to_json(pandas.concat([frame, back]))
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
