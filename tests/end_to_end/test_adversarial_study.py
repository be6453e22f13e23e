"""The study of adversarial tagging on a little text, through the real command."""

import pytest

from fairseq_xling.cli import main
from fairseq_xling.papers.transfer.tagging import ROWS
from fairseq_xling.reports.record import read_record
from tests.records import rows as rows_of
from tests.records import table

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
def test_the_study_compares_rows_over_seeds_and_goes_on_where_it_was(command, tmp_path, capsys):
    """Without annotated training and dev files of the target, which rows 5 and 6 alone need."""
    run = tmp_path / "run"
    for split in ("train", "valid"):
        (tmp_path / f"text/gold/tags.{split}.de.tsv").unlink()
    assert main([*command, "--rows", "2,4", "--seeds", "1"]) == 0
    assert "train-4-de-1: done in" in capsys.readouterr().out
    assert main([*command, "--rows", "2,4", "--seeds", "1,2"]) == 0
    assert "train-4-de-1: done before" in capsys.readouterr().out
    record = read_record(run)
    assert [row[0] for row in table(record)[1]] == ["2", "4"]
    curves = rows_of(run, task="epochs", measure="target")
    assert [(row["row"], row["epoch"]) for row in curves] == [(r, n) for r in "24" for n in (1, 2)]
    (compared,) = [note for note in record.sections[0].notes if " less " in note]
    assert compared.startswith("Row 4 less row 2")
    found = rows_of(run, task=None, measure="target")
    assert [(row["row"], row["seed"]) for row in found] == [(r, s) for r in "24" for s in (1, 2)]
    assert all(0 <= row["value"] <= 100 for row in found)
    known = rows_of(run, task=None, measure="discriminator")
    assert [row["row"] for row in known] == ["4", "4"]
    assert all(0 <= row["value"] <= 100 for row in known)
    assert record.commands and (run / "plot.svg").is_file()


@pytest.mark.slow
def test_all_rows_are_filled(command, tmp_path):
    assert main([*command, "--adversary", "flip"]) == 0
    _, lines = table(read_record(tmp_path / "run"))
    assert [row[0] for row in lines] == list(ROWS)
    assert lines[5][4] == ""  # nothing of the source is read by the supervised row


WRONG = [
    (["--rows", "2,7"], "unknown `--rows` '7'"),
    (["--test", "none.{lang}.tsv"], "`--test` none.en.tsv: no such file"),
    (["--head", "parsing"], "unknown `--head` of a tagger"),
]


@pytest.mark.parametrize(("extra", "message"), WRONG)
def test_wrong_settings_are_one_line_before_anything_runs(
    command, tmp_path, capsys, extra, message
):
    assert main([*command, *extra]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
