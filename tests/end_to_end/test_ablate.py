"""The ablation study on a little text, through the real command."""

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from fairseq_xling.cli import main
from fairseq_xling.studies.gold_tasks import transfer_mean
from tests.end_to_end.engine import launch, run
from tests.records import rows

OPTIONS = "--seeds 1,2 --updates 4 --every 2 --max-tokens 512 --layers 2 --vocab-size 400 --jobs 2"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with text, a run of two settings in it, and what was printed."""
    root = tmp_path_factory.mktemp("ablate")
    made = ("synthesize", str(root / "text"), "--sentences", "150", "--held-out", "40")
    assert main([*made]) == 0
    done = ablate(root, "--settings", "A6,C", *OPTIONS.split())
    return root, done.stdout


def ablate(root, *options, check=True):
    return run(
        *("fairseq-xling", "ablate", "emerging-structure", "--data-text", str(root / "text")),
        *("--output", str(root / "run"), *options),
        check=check,
    )


def test_the_table_has_a_row_per_setting_with_parameters_and_spread(study):
    root, printed = study
    table = (root / "run" / "table.md").read_text(encoding="utf-8")
    assert table.splitlines()[0] in printed
    rows = {line.split("|")[1].strip(): line for line in table.splitlines() if line[:2] == "| "}
    assert list(rows) == ["setting", "A6", "C"]
    assert rows["A6"].count("±") == 3
    assert "Sep Emb" in rows["A6"]
    assert "another measure" in table


def test_every_seed_is_in_the_csv(study):
    root, _ = study
    with open(root / "run" / "table.csv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    found = [row for row in found if row["measure"] != "paper: XNLI"]
    assert {(row["row"], row["seed"]) for row in found} == {
        (code, seed) for code in ("A6", "C") for seed in "12"
    }
    measures = {"sentence P@1", "word MRR", "bits per word", "parameters"}
    assert {row["measure"] for row in found} == measures
    assert all(float(row["value"]) >= 0 for row in found)


def test_the_control_has_two_of_every_parameter(study):
    root, _ = study
    found = rows(root / "run", measure="parameters")
    counts = {row["row"]: row["value"] for row in found}
    layer = 12 * 64**2 + 13 * 64
    assert counts["C"] - counts["A6"] == 2 * layer


def test_plot_and_report_are_there(study):
    root, _ = study
    assert (root / "run" / "plot.svg").read_text().count("</svg>") == 1
    assert "Exact commands" in (root / "run" / "report.html").read_text()
    config = json.loads((root / "run" / "results.json").read_text())["config"]
    assert config["updates"] == 4


def test_another_setting_later_runs_alone(study):
    root, _ = study
    again = ablate(root, "--settings", "A1,A6,C", *OPTIONS.split()).stdout
    assert again.count("skipped") == 1 + 2 * 4  # a data folder; train and eval of four models
    assert "train-A1-en-de-1: done in" in again
    (row,) = re.findall(r"^\| A1 \|.*", (root / "run" / "table.md").read_text(), re.MULTILINE)
    assert "70.2" in row  # the paper's


def test_a_second_text_of_another_domain_takes_the_place_of_the_target_only(study, tmp_path):
    root, _ = study
    other = tmp_path / "other"
    made = ("synthesize", str(other), "--sentences", "300", "--held-out", "5", "--domain", "other")
    assert main([*made]) == 0
    plan = ablate(
        *(root, "--settings", "A2", "--other-text", str(other), "--dry-run", *OPTIONS.split())
    ).stdout
    assert "subset-de: run" in plan
    assert "--mono train.de=" in plan
    assert "--mono train.en=" not in plan


@pytest.mark.slow
def test_further_test_sets_are_further_columns(tmp_path):
    made = ("synthesize", tmp_path / "text", "--sentences", "120", "--held-out", "20")
    run("fairseq-xling", *map(str, made), "--annotated", "60")
    for path in [*(tmp_path / "text").glob("*/*test.*")]:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if path.name.startswith("test."):
            lines = lines[: len(lines) // 2]  # sentences, not of trees
        other = path.with_name(path.name.replace("test.", "test1.", 1))
        other.write_text("".join(lines), encoding="utf-8")
    small = "--seeds 1 --updates 2 --every 2 --max-tokens 512 --layers 2 --vocab-size 400"
    small += " --settings A1 --tasks pos --test-splits test,test1"
    ablate(tmp_path, *small.split(), "--task-args", "--epochs 1")
    with open(tmp_path / "run" / "table.csv", newline="", encoding="utf-8") as file:
        rows = {row["measure"]: row for row in csv.DictReader(file)}
    both = ("sentence P@1", "sentence P@1 test1")
    assert {*both, "POS", "POS test1"} <= set(rows)
    first, second = (float(rows[name]["chance"]) for name in both)
    assert second == 2 * first  # of half as many sentences


@pytest.mark.slow
def test_the_papers_settings_made_small_train_on_streams(study, tmp_path):
    root, _ = study
    small = (
        "--preset paper --languages en,de --settings A5 --seeds 1 --vocab-size 400 --layers 2 "
        "--arch separable_transformer_tiny --block 32 --batch-size 4 --processes 0 --update-freq 2 "
        "--epochs 3 --epoch-size 20 --warmup 1 --device cpu --precision fp32"
    )
    text = ("--data-text", str(root / "text"), "--output", str(tmp_path / "run"))
    command = ["fairseq-xling", "ablate", "emerging-structure", *text, *small.split()]
    run(*command, "--tasks", "")
    config = json.loads((tmp_path / "run" / "results.json").read_text())["config"]
    # 60 rows, 4 of each process a step; the second batch of a step stands for a second process.
    assert (config["updates"], config["every"]) == (15, 5)
    log = (tmp_path / "run" / "logs" / "train-A5-en-de-1.log").read_text()
    updates = [int(n) for n in re.findall(r'"valid_num_updates": "(\d+)"', log)]
    assert updates == [5, 10, 15]
    assert "| A5 | Extra anchors | 400 |" in (tmp_path / "run" / "table.md").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--settings A11", "unknown `--settings` 'A11'; did you mean 'A1'"),
        ("--settings A2", "setting A2 needs `--other-text`"),
        ("--updates 5 --every 2", "`--updates` must be a multiple of `--every`, got 5 and 2"),
        ("--config none.yaml", "none.yaml: no such file"),
    ],
)
def test_bad_options_are_one_line(study, capsys, options, message):
    root = study[0]
    places = ("--data-text", str(root / "text"), "--output", str(root / "bad"))
    assert main(["ablate", "emerging-structure", *places, *options.split()]) == 1
    found = capsys.readouterr().err
    assert found.startswith(f"fairseq-xling: error: {message}") and found.count("\n") == 1


def example(name, *arguments):
    script = str(Path(__file__).parents[2] / "examples" / "emerging_structure" / name)
    return launch([sys.executable, script, *map(str, arguments)])


def test_the_readme_of_the_example_is_made_from_a_run(study, tmp_path):
    root, _ = study
    done = example("make_readme.py", root / "run", "--output", tmp_path / "README.md")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| A6 | Sep Emb |" in text
    assert "seeds 1,2" in text
    done = example("make_readme.py", tmp_path, "--output", tmp_path / "README.md")
    assert done.stderr.startswith("fairseq-xling: error: ")
    assert "contains no finished run" in done.stderr


def test_real_text_is_arranged_so_that_no_training_sentence_is_translated(tmp_path):
    for split, count in (("train", 6), ("valid", 2), ("test", 3)):
        for lang in ("en", "de"):
            lines = "".join(f"{lang} {split} {n}\n" for n in range(count))
            (tmp_path / f"{split}.{lang}").write_text(lines)
    (tmp_path / "words").write_text("house haus\ntree\tbaum\n")
    (tmp_path / "novel").write_text("Es war einmal. Und dann? Nichts mehr.\n")
    pairs = [
        argument
        for split in ("train", "valid", "test")
        for argument in (f"--{split}", tmp_path / f"{split}.en", tmp_path / f"{split}.de")
    ]
    out = tmp_path / "out"
    other = ("--other", tmp_path / "other", tmp_path / "novel")
    done = example("arrange_text.py", out, *pairs, "--dictionary", tmp_path / "words", *other)
    assert done.returncode == 0, done.stderr
    assert (out / "mono/train.en.txt").read_text().split()[2::3] == ["0", "2", "4"]
    assert (out / "mono/train.de.txt").read_text().split()[2::3] == ["1", "3", "5"]
    assert len((out / "parallel/test.en-de.de.txt").read_text().splitlines()) == 3
    assert (out / "dictionary/en-de.tsv").read_text() == "house\thaus\ntree\tbaum\n"
    novel = (tmp_path / "other/mono/train.de.txt").read_text().splitlines()
    assert novel == ["Es war einmal.", "Und dann?", "Nichts mehr."]
    (tmp_path / "test.de").write_text("one\n")
    done = example("arrange_text.py", out, *pairs)
    assert "must have equally many lines, got 3 and 1" in done.stderr


@pytest.mark.slow
def test_a_zero_shot_task_is_a_further_column(study):
    root, _ = study
    task = ["--tasks", "pos", "--task-args", "--epochs 1 --batch-sizes 8"]
    printed = ablate(root, "--settings", "A1", *OPTIONS.split(), "--seeds", "1", *task).stdout
    assert "train-A1-en-de-1: done before" in printed
    row = next(line for line in printed.splitlines() if line.startswith("| A1 |"))
    header = next(line for line in printed.splitlines() if line.startswith("| setting |"))
    cells = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    found = {lang: transfer_mean(root / "run/tasks/pos-A1-en-de-1", lang) for lang in ("en", "de")}
    assert cells["POS, de"] == f"{found['de']:.1f}"
    assert found["en"] > 20
