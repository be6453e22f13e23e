"""`xling.read_study`: tables of results as frames of pandas."""

import csv
import json
from pathlib import Path

import pandas
import pytest

import fairseq_xling as xling
from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.results.exports import scores
from fairseq_xling.results.page import Result
from fairseq_xling.results.result import find_results, make_page
from fairseq_xling.results.tables import write_csv
from tests.unit.studies.pages.records import ORIGIN, RECORDS


def run_of(folder, kind):
    write_json(folder / "results.json", {**RECORDS[kind], "provenance": ORIGIN})
    return folder


@pytest.mark.parametrize("kind", ["ablation", "evaluation", "transfer"])
def test_each_kind_of_result_is_read_as_its_csv_files_have_it(kind, tmp_path):
    run = run_of(tmp_path, kind)
    page = make_page(*find_results(run))
    first = xling.read_study(run)
    assert first.attrs["tables"] == list(page.tables)
    assert (first.attrs["kind"], first.attrs["title"]) == (kind, page.title)
    assert first.attrs["command"] == ORIGIN["command"]
    for name, (header, rows) in page.tables.items():
        write_csv(tmp_path / "t.csv", header, rows)
        with open(tmp_path / "t.csv", encoding="utf-8") as file:
            columns, *lines = csv.reader(file)
        found = xling.read_study(str(run), name)
        assert list(found.columns) == columns and len(found) == len(lines)
        for row, line in zip(found.itertuples(index=False), lines, strict=True):
            assert list(map(same, row, line)) == [True] * len(line)


def same(value, text):
    if value is None or pandas.isna(value):
        return text == "" or text == "nan"
    return value == text if isinstance(value, str) else float(value) == float(text)


def test_a_study_has_a_row_for_each_seed_with_numbers_to_compute_with(tmp_path):
    found = xling.read_study(run_of(tmp_path, "ablation"))
    record = RECORDS["ablation"]
    assert set(found["seed"]) == {int(seed) for seed in record["config"]["seeds"].split(",")}
    own = found[(found.setting == "A1") & (found.target == "de")].sort_values("seed")
    assert own["value"].tolist() == [0.49, 0.51]
    assert own["value"].mean() == pytest.approx(0.5)


def test_what_is_no_finished_run_is_refused_in_one_line(tmp_path):
    def refusal(*given):
        with pytest.raises(ValueError) as error:
            xling.read_study(*given)
        assert isinstance(error.value, UserError) and "\n" not in str(error.value)
        return str(error.value)

    assert refusal(tmp_path / "none").endswith("none: no such folder or file of results")
    assert "contains no results" in refusal(tmp_path)
    (tmp_path / "results.json").write_text("{")
    assert "results.json" in refusal(tmp_path)
    write_json(tmp_path / "results.json", {"kind": "ablation", "config": {}, "frame": {}})
    assert "damaged results of kind 'ablation'" in refusal(tmp_path)
    run = run_of(tmp_path / "run", "ablation")
    assert refusal(run, 3) == "unknown table 3; known: table"
    assert refusal(None) == "`folder` must be a path, got None"
    assert refusal(run, "tabel") == "unknown table 'tabel'; did you mean 'table'? known: table"
    for name in ("one", "two"):
        write_json(tmp_path / "many" / f"{name}.json", RECORDS["evaluation"])
    assert refusal(tmp_path / "many").endswith("name one of them: one.json, two.json")


KEYS = ["run", "kind", "table", "model", "seed", "language", "metric", "value", "details"]


def found(kind):
    result = Result(Path(f"{kind}.json"), RECORDS[kind])
    return list(scores(result, make_page(result, figures=False)))


# What they measure is a drawing, or is measured by other kinds.
DRAWN = {"clcr-curves", "neighbourhood"}


@pytest.mark.parametrize("kind", RECORDS)
def test_each_kind_of_result_has_scores_with_the_same_keys(kind):
    lines = found(kind)
    assert bool(lines) == (kind not in DRAWN)
    for line in lines:
        assert list(line) == [*KEYS, "task", "provenance"]
        assert line["kind"] == kind and line["model"] and line["task"] and line["metric"]
        assert isinstance(line["value"], int | float)
        assert line["provenance"]["command"] == ORIGIN["command"]
        assert line["provenance"]["inputs"] == {"data": "ab" * 32}


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("transfer", ("model", 1, "ner", "de", "f1", 50.5)),
        ("demo", ("shared", None, "demo", "de", "retrieval", 0.5)),
        ("demo", ("shared", None, "demo", "en", "POS", 90.0)),
        ("demo", ("migrated, identity", None, "demo", "de", "bleu", 20.5)),
        ("ablation", ("A1", 2, "ablation", "de", "sentence P@1", 0.51)),
        ("size-window", ("GloVe", 1, "size-window", "de", "word_mrr", 0.21)),
        ("trelm-run", ("trelm-run", 1, "translation", "de", "BLEU", 20.5)),
        ("evaluation", ("a/checkpoint_best.pt", None, "retrieval", "en-de", "mean", 0.625)),
        ("comparison", ("comparison", None, "tatoeba", "en-de", "cosine mean", 0.75)),
        ("probing", ("layer01", 1, "probing", None, "f1", 0.7)),
    ],
)
def test_a_score_is_found_under_its_model_seed_task_and_language(kind, wanted):
    keys = ("model", "seed", "task", "language", "metric", "value")
    lines = [tuple(line[key] for key in keys) for line in found(kind)]
    assert wanted in lines


def test_what_describes_a_score_stands_with_it():
    (first, *_) = found("ablation")
    assert first["details"] == {"chance": 0.01, "parameters": 1234}
    assert not [line for line in found("evaluation") if line["metric"] in ("layer", "chance")]


def test_the_verb_writes_a_line_each_and_no_pages_unless_asked(tmp_path, capsys):
    write_json(tmp_path / "run" / "results.json", RECORDS["transfer"])
    line = ["report", str(tmp_path / "run")]
    assert main([*line, "--jsonl", str(tmp_path / "scores.jsonl")]) == 0
    lines = (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert capsys.readouterr().out == f"scores: {tmp_path / 'scores.jsonl'}, {len(lines)} lines\n"
    assert {json.loads(one)["run"] for one in lines} == {"run"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "scores.jsonl"]
    assert main(line) == 1
    assert "`--output` must name a folder for the pages" in capsys.readouterr().err
