"""`fairseq-xling clcr classify` on planted sequences whose label is a matter of order."""

import csv

import numpy as np
import pytest

from fairseq_xling.cli import main
from fairseq_xling.papers.clcr import classify
from fairseq_xling.reports.page import parts
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import GIVEN, figures
from tests.records import rows as rows_of
from tests.records import table
from tests.sequence_folder import OrderTask, write_folder

SMALL = "--hidden 16 --dropout 0.1 --lr 0.015 --epochs 8 --patience 8".split()
FILES = {"train.en": 400, "dev.en": 60, "test.en": 150, "test.xx": 0}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    """Labelled files, and folders of sequences with foreign order (TE) and with ours (TER)."""
    root = tmp_path_factory.mktemp("classify")
    order, drawn = OrderTask(), {}
    for name, count in FILES.items():
        drawn[name] = order.draw(count) if count else drawn["test.en"]  # translations
        pairs, labels = drawn[name]
        lines = [
            "\t".join([*(" ".join(f"w{n}" for n in words) for words in pair), label])
            for pair, label in zip(pairs, labels, strict=True)
        ]
        (root / f"{name}.tsv").write_text("".join(line + "\n" for line in lines))
        lang = name[-2:]
        for row, shuffled in (("TE", 1.0), ("TER", 0.0)):
            for number, side in enumerate(("premise", "hypothesis")):
                moved = shuffled if lang == "xx" else 0.0
                vectors = [order.sequence(pair[number], lang, moved) for pair in pairs]
                write_folder(root / row / f"{name}.{side}", vectors, lang)
    return root


def options(task, output, *more):
    given = ["--train", f"en={task / 'train.en.tsv'}", "--valid", f"en={task / 'dev.en.tsv'}"]
    given += ["--test", f"en={task / 'test.en.tsv'}", "--test", f"xx={task / 'test.xx.tsv'}"]
    return ["clcr", "classify", *given, *SMALL, "--output", str(output), *more]


def rows(task, *names):
    return [
        word
        for name, folder in names
        for word in ("--vectors", f"{name}={task / folder}/{{file}}.{{side}}")
    ]


def fails(capsys, status):
    assert status == 1
    return capsys.readouterr().err.strip().splitlines()[-1]


@pytest.mark.slow
def test_one_command_makes_the_table_and_the_right_order_closes_the_gap(
    task, tmp_path, capsys, monkeypatch
):
    output = tmp_path / "run"
    given = options(task, output, "--seeds", "1,2", *rows(task, ("T+E", "TE"), ("T+E+R", "TER")))
    assert main(given) == 0
    printed = capsys.readouterr().out
    record = read_record(output)
    header, found = parts(record)[0].shown
    assert header == ["row", "dev", "en", "xx", "gap xx"]
    names = [row[0] for row in found]
    assert names[0].startswith("always ") and names[1:] == ["T+E", "T+E+R"]
    assert "T+E+R" in printed and "gap xx" in printed
    trained = rows_of(output, measure="accuracy", seed=GIVEN)
    by_row = figures(trained, "row", "target", "task")
    assert min(by_row["T+E+R", "xx", "xx.test.xx.tsv"]) > 90
    assert max(by_row["T+E", "xx", "xx.test.xx.tsv"]) < 70
    means = [np.mean(by_row["T+E+R", x, f"{x}.test.{x}.tsv"]) for x in ("en", "xx")]
    assert found[2][4].mean == pytest.approx(means[0] - means[1])
    # Predictions are the tested file with another label; the table counts them.
    (folder,) = (output / "predictions").glob("T+E+R-seed1-*")
    gold = [line.split("\t") for line in (task / "test.xx.tsv").read_text().splitlines()]
    ours = [line.split("\t") for line in (folder / "xx.test.xx.tsv").read_text().splitlines()]
    assert [row[:2] for row in ours] == [row[:2] for row in gold]
    right = np.mean([x == y for x, y in zip(ours, gold, strict=True)])
    assert 100 * right == pytest.approx(by_row["T+E+R", "xx", "xx.test.xx.tsv"][0])
    with open(output / "table.csv") as file:
        lines = [
            one for one in csv.DictReader(file) if one["measure"] == "accuracy" and one["seed"]
        ]
    assert len(lines) == 2 * 2 * 3
    assert (output / "plot.svg").read_text().startswith("<?xml") and (output / "table.md").exists()

    # Again: nothing is trained; one more row trains that alone, other labels all rows.
    before = (output / "table.md").read_text()
    fit, calls = classify.fit_esim, []

    def counted(*given):
        calls.append(given)
        return fit(*given)

    monkeypatch.setattr(classify, "fit_esim", counted)
    assert main(given) == 0
    assert (output / "table.md").read_text() == before and not calls
    assert main([*given, *rows(task, ("again", "TER"))]) == 0
    assert len(calls) == 2
    assert main([*given, "--columns", "text=1,pair=0,label=2"]) == 0
    assert len(calls) == 2 + 4


def test_a_killed_run_goes_on_with_the_next_training_and_ends_alike(task, tmp_path, monkeypatch):
    short = ["--epochs", "1", "--seeds", "1,2", *rows(task, ("T+E", "TE"))]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".settings.json.fi6fvjhf.tmp").write_text("{}")  # killed at its first file
    assert main(options(task, tmp_path / "whole", *short)) == 0
    fit, calls = classify.fit_esim, []

    def dies(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return fit(*given)

    monkeypatch.setattr(classify, "fit_esim", dies)
    assert main(options(task, tmp_path / "run", *short)) == 130
    monkeypatch.setattr(classify, "fit_esim", lambda *given: calls.append(given) or fit(*given))
    assert main(options(task, tmp_path / "run", *short)) == 0
    assert len(calls) == 3
    found = [read_record(tmp_path / name).rows for name in ("whole", "run")]
    assert found[0] == found[1]
    tables = [(tmp_path / name / "table.csv").read_bytes() for name in ("whole", "run")]
    assert tables[0] == tables[1]
    assert not list((tmp_path / "run").glob(".*.tmp"))


@pytest.mark.slow
def test_every_seed_may_have_sequences_of_its_own(task, tmp_path):
    for seed, row in ((1, "TE"), (2, "TER")):
        (tmp_path / f"model{seed}").symlink_to(task / row)
    pattern = ["--vectors", f"T+E={tmp_path}/model{{seed}}/{{name}}.{{lang}}.{{side}}"]
    given = options(task, tmp_path / "run", "--seeds", "1,2", *pattern, "--epochs", "7")
    assert main(given) == 0
    found = rows_of(tmp_path / "run", measure="accuracy", seed=GIVEN)
    first, second = figures(found, "task")[("xx.test.xx.tsv",)]
    assert first < 70 < second


def test_settings_may_stand_in_a_file(task, tmp_path):
    (tmp_path / "nli.yaml").write_text(
        f"train: en={task}/train.en.tsv\nvalid: en={task}/dev.en.tsv\n"
        f"test: [xx={task}/test.xx.tsv]\n"
        f"vectors:\n  - T+E={task}/TE/{{file}}.{{side}}\nhidden: 4\nepochs: 1\n"
    )
    given = ["--config", str(tmp_path / "nli.yaml"), "--output", str(tmp_path / "run")]
    assert main(["clcr", "classify", *given]) == 0
    header, _ = table(read_record(tmp_path / "run"))
    assert header == ["row", "dev", "xx"]  # no file of the source, so no gap


def test_mistakes_are_named_before_anything_is_trained(task, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(classify, "fit_esim", None)

    def says(*more, without=()):
        given = options(task, tmp_path / "run", *more)
        for name in without:
            place = given.index(name)
            del given[place : place + 2]
        return fails(capsys, main(given))

    good = rows(task, ("T+E", "TE"))
    single = tmp_path / "single.tsv"
    single.write_text("a text\tyes\n")
    for side in ("premise", "hypothesis"):
        if not (folder := task / "TE" / f"more.en.{side}").exists():
            write_folder(folder, [np.ones((1, 8))])
    (tmp_path / "more.en.tsv").write_text("a\tb\tyes\na\tb\tno\n")
    for text, line in {
        "T=x/{file}.{sides}": "unknown place in `--vectors` 'sides'; did you mean 'side'?",
        "T=x/{file}": "must have {side}",
        "T=x/{lang}.{side}": "must have {file}",
        f"T={task}/none/{{file}}.{{side}}": "no such folder; `fairseq-xling clcr encode` writes",
    }.items():
        assert line in says("--vectors", text)
    for more, line in (
        (good, "there are two rows 'T+E'"),
        (["--test", f"en={task}/test.en.tsv"], "there are two files of that name and language"),
        (["--test", f"xx={task}/test.en.tsv"], f"must be in xx as `{task}/test.en.tsv` is, got en"),
        (["--test", f"en={single}"], "single.tsv:1: must have a premise and a hypothesis, got one"),
        (
            ["--test", f"en={tmp_path}/more.en.tsv"],
            "must have a sentence for each of 2 labelled pairs, got 1",
        ),
    ):
        assert line in says(*good, *more)
    assert "`--vectors` must be given" in says()
    assert "`--train` must be given" in says(*good, without=["--train"])
    assert "`--valid` must be in the language trained on, en, got xx" in says(
        *good, "--valid", f"xx={task}/test.xx.tsv", without=["--valid"]
    )
    assert not (tmp_path / "run").exists()


def test_the_sentences_of_pairs_are_written_as_text(tmp_path, capsys):
    source = tmp_path / "dev.en.tsv"
    source.write_text("id\tgold\tfirst\tsecond\n1\tyes\ta dog\tan animal\n2\tno\tb\tc d\n")
    stem = tmp_path / "text" / "dev.en"
    columns = ["--columns", "text=first,pair=second,label=gold"]
    assert main(["clcr", "texts", str(source), *columns, "--output", str(stem)]) == 0
    assert "2 sentences each" in capsys.readouterr().out
    assert (tmp_path / "text" / "dev.en.premise").read_text() == "a dog\nb\n"
    assert (tmp_path / "text" / "dev.en.hypothesis").read_text() == "an animal\nc d\n"
    (tmp_path / "one.tsv").write_text("a\tyes\n")
    given = ["clcr", "texts", str(tmp_path / "one.tsv"), "--output", str(tmp_path / "one")]
    assert "one.tsv:1: must have a premise and a hypothesis" in fails(capsys, main(given))
    assert not (tmp_path / "one.premise").exists()
