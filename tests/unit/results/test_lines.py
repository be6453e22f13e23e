import json
from pathlib import Path

import pytest

from fairseq_xling.cli import main
from fairseq_xling.files import write_json
from fairseq_xling.results.lines import scores
from fairseq_xling.results.page import Result
from fairseq_xling.results.result import make_page
from tests.unit.studies.pages.records import ORIGIN, RECORDS

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
