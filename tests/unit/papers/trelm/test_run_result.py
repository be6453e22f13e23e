import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.files import read_json
from fairseq_xling.mapping.vectors_file import Vectors, write_vectors
from fairseq_xling.papers.trelm.results import _read_map
from fairseq_xling.papers.trelm.run_result import _losses, maps
from fairseq_xling.results.figures import to_svg
from tests.unit.studies.pages.records import RECORDS


def test_the_curves_of_the_report_have_names_in_words():
    (migration,) = RECORDS["trelm-run"]["migrations"]
    svg = to_svg(_losses(migration)())
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
    written = read_json(tmp_path / "out.json")
    (section,) = maps([{"target": "de", "maps": [_read_map(tmp_path / "out")]}])
    (row,) = section.rows
    cells = dict(zip(section.header, row, strict=True))
    assert cells["mean cosine"] == written["criterion"] == pytest.approx(1.0, abs=1e-3)
    assert cells["unmapped"] == written["criterion_unmapped"] < 0.95
    assert [cells[name] for name in ("target", "failed", "failed seeds")] == ["de", "no", "none"]
    assert cells["best seed"] == written["best_seed"]
