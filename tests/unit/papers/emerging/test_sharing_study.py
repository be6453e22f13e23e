import pytest

from fairseq_xling.core.files import write_json
from fairseq_xling.papers.emerging.config import CLAIMS, SETTINGS
from fairseq_xling.papers.emerging.sharing_study import EmergingStructure, sharing_claims, table
from fairseq_xling.results import tables
from fairseq_xling.results.frame import frame_to_json, make_frame
from fairseq_xling.results.paired import paired_difference
from fairseq_xling.studies.study import Cell
from tests.transfer_record import transfer_record

STUDY = EmergingStructure()


@pytest.fixture
def cells(tmp_path):
    """Two settings, two target languages, two seeds, with made-up scores."""
    result = []
    for row, setting in enumerate(SETTINGS[:2]):
        for place, target in enumerate(("de", "zh")):
            for seed in (1, 2):
                name = f"{setting.code}.{target}.{seed}"
                score = 0.5 - 0.2 * row - 0.1 * place + 0.01 * seed
                scores = {target: {"retrieval": score}}
                measures = {"retrieval": {"scores": scores, "chance": {target: {"retrieval": 0.1}}}}
                path = tmp_path / f"{name}.json"
                write_json(path, {"results": [{"measures": measures}]})
                log = tmp_path / f"{name}.log"
                log.write_text(f"num. shared model params: {1000 * (row + 1)} (num. trained: 1)\n")
                about = {"row": setting.code, "name": setting.name, "target": target, "seed": seed}
                about |= {"vocabulary": setting.bpe(2000), "reported": setting.paper_xnli}
                result.append(Cell(about, {"evaluation": path, "log": log}))
    return result


def test_a_row_per_setting_and_a_column_per_language_and_measure(cells):
    header, rows = table(STUDY.frame(cells), {"sentence P@1": 3})
    assert header == [
        "setting",
        "",
        "BPE",
        "parameters",
        "sentence P@1, de",
        "sentence P@1, zh",
        "Δ sentence P@1",
        "paper: XNLI",
    ]
    shown = [[tables.cell(value) for value in row] for row in rows]
    assert rows[0][:4] == ["A1", "Default", "2,000", 1000]
    assert shown[0][4:] == ["0.515 ± 0.007", "0.415 ± 0.007", "+0.000", "70.2"]
    assert rows[1][:4] == ["A2", "Other domain", "2,000", 2000]


def test_delta_is_the_mean_over_languages_against_the_first_row(cells):
    _, rows = table(STUDY.frame(cells), {"sentence P@1": 3})
    assert str(rows[1][6]) == "-0.200"


def test_measures_that_were_not_run_are_not_there_and_chance_is(cells):
    frame = STUDY.frame(cells)
    assert set(frame["measure"]) == {"sentence P@1"}
    assert set(frame["chance"]) == {0.1}


def test_zero_shot_tasks_are_further_columns(cells, tmp_path):
    with_task = []
    for cell in cells:
        code, target, seed = (cell.about[name] for name in ("row", "target", "seed"))
        folder = tmp_path / f"pos-{code}-{target}-{seed}"
        scores = {"en": {"accuracy": 99.0}}
        scores[target] = {"accuracy": 90.0 - 10 * (code == "A2") + seed}
        record = transfer_record({"tests": [{"scores": scores}]}, metric="accuracy")
        write_json(folder / "results.json", record)
        with_task.append(Cell(cell.about, {**cell.files, "pos test": folder}))
    header, rows = table(STUDY.frame(with_task), {"sentence P@1": 3, "POS": 1})
    assert header[7:10] == ["POS, de", "POS, zh", "Δ POS"]
    assert list(map(tables.cell, rows[0][7:10])) == ["91.5 ± 0.7", "91.5 ± 0.7", "+0.0"]
    assert list(map(tables.cell, rows[1][7:10])) == ["81.5 ± 0.7", "81.5 ± 0.7", "-10.0"]


def test_what_the_paper_says_is_of_settings_that_there_are():
    codes = {setting.code for setting in SETTINGS}
    assert {code for one in CLAIMS for code in (one.better, one.worse)} <= codes
    assert all(one.better != one.worse and one.text.endswith(".") for one in CLAIMS)


def test_what_the_paper_says_is_decided_by_the_mean_over_languages():
    figures = {
        ("A1", "de"): [0.5, 0.6, 0.7],
        ("A1", "zh"): [0.3, 0.4, 0.2],
        ("A5", "de"): [0.6, 0.8, 0.7],
        ("A5", "zh"): [0.6, 0.5, 0.6],
    }
    record = {
        "config": {"seeds": "1,2,3"},
        "columns": [
            {"title": "sentence P@1", "compares": True, "digits": 3},
            {"title": "bits per word", "compares": False, "digits": 2},
            {"title": "POS", "compares": True, "digits": 1},
        ],
    }
    rows = [
        {"row": code, "target": lang, "measure": measure, "seed": seed, "value": value}
        for (code, lang), values in figures.items()
        for measure in ("POS", "bits per word", "sentence P@1")
        for seed, value in enumerate(values, start=1)
    ]
    record["frame"] = frame_to_json(make_frame(rows))
    section = sharing_claims(record)
    assert section.header == ["claim", "rows", "sentence P@1", "POS"]
    (row,) = section.rows
    assert row[:2] == ["Extra anchors help (4.2).", "A5 - A1"]
    # 0.2, 0.15 and 0.2: their t is 11, with 2 degrees of freedom.
    found = paired_difference([0.6, 0.65, 0.65], [0.4, 0.5, 0.45])
    assert found["p"] == pytest.approx(0.0082, abs=1e-4)
    assert row[2:] == [
        "+0.183 [+0.112, +0.255], p = 0.008: kept",
        "+0.2 [+0.1, +0.3], p = 0.008: kept",
    ]
