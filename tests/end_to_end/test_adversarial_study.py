"""The study of adversarial tagging on a little text, through the real command."""

import csv

import pytest

from fairseq_xling.cli import main
from fairseq_xling.papers.transfer.tagging.config import ROWS
from fairseq_xling.results.result import find_results, make_page

SMALL = (
    "--columns token=0,tag=2 --sentences 40 --valid-sentences 20 --few 10 --epochs 2 --held-out 20 "
    "--dim 8 --vector-epochs 1 --map identical --train-args"
).split()
SIZES = "--encoder-hidden 6 --tagger-hidden 5 --char-maps 3 --discriminator-maps 4"


@pytest.fixture
def command(tmp_path):
    text = tmp_path / "text"
    sizes = "--sentences 80 --held-out 25 --annotated 60".split()
    assert main(["synthesize", str(text), "--languages", "en,de", *sizes]) == 0
    files = [
        word
        for split in ("train", "valid", "test")
        for word in (f"--{split}", f"{text}/gold/tags.{split}.{{lang}}.tsv")
    ]
    files += ["--unlabelled", f"{text}/mono/train.{{lang}}.txt"]
    run = ["--languages", "en,de", "--output", str(tmp_path / "run")]
    return ["ablate", "adversarial-tagging", *run, *files, *SMALL, SIZES]


@pytest.mark.row("E12")
def test_no_step_of_a_zero_shot_row_reads_annotation_of_the_target(command, tmp_path, capsys):
    assert main([*command, "--rows", "1,2,3,4", "--dry-run"]) == 0
    plan = capsys.readouterr().out
    assert "train-4-de-1: run" in plan and "train-de" not in plan and "few" not in plan
    trainings = [line for line in plan.splitlines() if line.strip().startswith("fairseq-train")]
    assert len(trainings) == 4
    assert not [line for line in trainings if ".de.tsv" in line or ".de.conll" in line]
    assert main([*command, "--rows", "5,6", "--dry-run"]) == 0
    assert "few-de: run" in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.row("E12")
def test_the_study_compares_rows_over_seeds_and_goes_on_where_it_was(command, tmp_path, capsys):
    """Without annotated training and dev files of the target, which rows 5 and 6 alone need."""
    run = tmp_path / "run"
    for split in ("train", "valid"):
        (tmp_path / f"text/gold/tags.{split}.de.tsv").unlink()
    assert main([*command, "--rows", "2,4", "--seeds", "1"]) == 0
    assert "train-4-de-1: done in" in capsys.readouterr().out
    assert main([*command, "--rows", "2,4", "--seeds", "1,2"]) == 0
    assert "train-4-de-1: done before" in capsys.readouterr().out
    (result,) = find_results(run)
    table, *_ = make_page(result).sections
    assert [row[0] for row in table.rows] == ["2", "4"]
    with open(run / "curves.csv", newline="", encoding="utf-8") as file:
        curves = [(row["row"], row["epoch"]) for row in csv.DictReader(file)]
    assert curves == [(row, epoch) for row in "24" for epoch in "12"]
    (compared,) = [note for note in table.notes if "Here: " in note]
    assert "row 4 minus row 2" in compared
    with open(run / "table.csv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert [(row["row"], row["seed"]) for row in found] == [(r, s) for r in "24" for s in "12"]
    assert all(0 <= float(row["f1"]) <= 100 for row in found)
    assert found[0]["discriminator"] == "" and 0 <= float(found[2]["discriminator"]) <= 1
    assert "Exact commands" in (run / "report.html").read_text()
    assert make_page(result).measured[0].row == "E12"


@pytest.mark.slow
@pytest.mark.row("E12")
def test_all_rows_are_filled(command, tmp_path):
    assert main([*command, "--adversary", "flip"]) == 0
    table, *_ = make_page(*find_results(tmp_path / "run")).sections
    assert [row[0] for row in table.rows] == list(ROWS)
    assert table.rows[5][4] is None  # nothing of the source is read by the supervised row


WRONG = [
    (["--languages", "en"], "`--languages` must name at least two"),
    (["--rows", "2,7"], "unknown `--rows` '7'"),
    (["--train", "train.tsv"], "`--train` must be a path with {lang}"),
    (["--test", "none.{lang}.tsv"], "`--test` none.en.tsv: no such file"),
    (["--vectors", "en=none.vec"], "`--vectors` none.vec: no such file"),
    (["--adversary", "none"], "`--adversary`: unknown value 'none'"),
    (["--head", "parsing"], "unknown `--head` of a tagger"),
]


@pytest.mark.parametrize(("extra", "message"), WRONG)
def test_wrong_settings_are_one_line_before_anything_runs(
    command, tmp_path, capsys, extra, message
):
    assert main([*command, *extra]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
