import pytest

from fairseq_xling.papers.emerging.sharing import SETTINGS, EmergingStructure, Options
from fairseq_xling.reports.record import Record, write_record
from fairseq_xling.workflow.recipe import Cell
from tests.records import table, write_transfer

STUDY = EmergingStructure()


@pytest.fixture
def cells(tmp_path):
    """Two settings, two target languages, two seeds, with made-up scores."""
    result = []
    abouts = []
    for row, setting in enumerate(SETTINGS[:2]):
        abouts.append({"row": setting.code, "name": setting.name, "vocabulary": "2,000"})
        for place, target in enumerate(("de", "zh")):
            for seed in (1, 2):
                name = f"{setting.code}.{target}.{seed}"
                score = 0.5 - 0.2 * row - 0.1 * place + 0.01 * seed
                about = {"task": "retrieval", "target": target, "measure": "mean", "chance": 0.1}
                rows = [{**about, "layer": 0, "value": 0.0}]
                rows.append({**about, "layer": 1, "value": score, "best": 1})
                write_record(tmp_path / f"{name}.json", Record("", rows))
                log = tmp_path / f"{name}.log"
                log.write_text(f"num. shared model params: {1000 * (row + 1)} (num. trained: 1)\n")
                files = {"evaluation": tmp_path / f"{name}.json", "log": log}
                result.append(Cell({**abouts[-1], "target": target, "seed": seed}, files))
    figure = {"measure": "paper: XNLI", "value": SETTINGS[0].paper_xnli, "unit": "%"}
    return [*result, Cell({**abouts[0], **figure}, {})]


def record(cells):
    return STUDY.record(STUDY.rows(cells), Options())


def test_a_row_per_setting_and_a_column_per_language_and_measure(cells):
    header, rows = table(record(cells))
    assert header == [
        *("setting", "", "BPE", "parameters"),
        *("sentence P@1, de", "sentence P@1, zh", "Δ sentence P@1", "paper: XNLI"),
    ]
    assert rows[0][:4] == ["A1", "Default", "2,000", "1,000"]
    assert rows[0][4:] == ["0.515 ± 0.007", "0.415 ± 0.007", "+0.000", "70.2"]
    assert rows[1][:4] == ["A2", "Other domain", "2,000", "2,000"]
    # Delta is the mean over languages against the first row.
    assert rows[1][6:] == ["-0.200", ""]


def test_measures_that_were_not_run_are_not_there_and_chance_is(cells):
    found = [row for row in STUDY.rows(cells) if row["measure"].startswith("sentence")]
    assert {row["measure"] for row in found} == {"sentence P@1"}
    assert {row["chance"] for row in found} == {0.1}


def test_zero_shot_tasks_are_further_columns(cells, tmp_path):
    with_task = []
    for one in cells[:-1]:
        code, target, seed = (one.about[name] for name in ("row", "target", "seed"))
        folder = tmp_path / f"pos-{code}-{target}-{seed}"
        scores = {"en": 99.0, target: 90.0 - 10 * (code == "A2") + seed}
        write_transfer(folder, "accuracy", scores)
        with_task.append(Cell(one.about, {**one.files, "pos test": folder}))
    header, rows = table(record(with_task))
    assert header[7:10] == ["POS, de", "POS, zh", "Δ POS"]
    assert rows[0][7:10] == ["91.5 ± 0.7", "91.5 ± 0.7", "+0.0"]
    assert rows[1][7:10] == ["81.5 ± 0.7", "81.5 ± 0.7", "-10.0"]
