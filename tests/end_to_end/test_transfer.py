"""Fine-tuning, `predict`, `eval transfer` and `eval matrix`, through the CLIs."""

import csv
import re
import shutil

import pytest
import torch
from seqeval.metrics import f1_score

from fairseq_xling import USER_DIR
from fairseq_xling.reports.rows import distinct, figures
from tests.end_to_end.engine import (
    assert_same_training,
    in_process,
    load,
    logged,
    run,
    run_until,
    small_model,
)
from tests.once import linked
from tests.records import rows as rows_of
from tests.records import value


@pytest.fixture(scope="module")
def study(study_world, tmp_path_factory):
    """The shared one with text of its own, since files of it are moved, and an encoder whose first
    layer and embeddings each language has for itself."""
    root = linked(study_world, tmp_path_factory.mktemp("transfer"))
    for name in ("text", "model"):
        (root / name).unlink()
    shutil.copytree(study_world / "text", root / "text")
    in_process("train", *small_model(root / "data", root / "model", "--separate", "emb,1"))
    return root


def nli(study, split, lang="en"):
    return study / "text" / "gold" / f"nli.{split}.{lang}.tsv"


def tuning(study, folder, *extra):
    """Arguments of a fine-tuning of four epochs."""
    return [
        *("fairseq-train", str(study / "data"), "--user-dir", str(USER_DIR)),
        *"--task cross_lingual_transfer --arch cross_lingual_transfer".split(),
        *"--criterion cross_lingual_transfer --optimizer adam --lr 1e-3".split(),
        *("--encoder", str(study / "model" / "checkpoint_last.pt")),
        *("--train-file", f"en={nli(study, 'train')}", "--valid-file", f"en={nli(study, 'valid')}"),
        *"--batch-size 7 --max-epoch 4 --cpu --num-workers 0 --log-format json".split(),
        *"--best-checkpoint-metric accuracy --maximize-best-checkpoint-metric".split(),
        *("--no-progress-bar", "--log-interval", "1", "--save-dir", str(study / folder), *extra),
    ]


@pytest.fixture(scope="module")
def tuned(study):
    """The output of a whole fine-tuning into ``tuned``."""
    return run(*tuning(study, "tuned")).stdout


def test_every_item_is_seen_in_every_epoch_and_validation_gives_the_metric(study, tuned):
    steps = logged(tuned, "train_inner")
    assert len(steps) == 4 * 9  # 60 items are 8 batches of 7 and one of 4
    assert sum(step["bsz"] for step in steps) == 4 * 60
    found = logged(tuned, "valid")
    assert len(found) == 4
    assert all(0 < epoch["valid_accuracy"] < 100 for epoch in found)
    count = len(nli(study, "valid").read_text().splitlines())
    assert len({round(epoch["valid_accuracy"] * count / 100, 3) % 1 for epoch in found}) == 1
    best = load(study / "tuned" / "checkpoint_best.pt")
    assert best["extra_state"]["best"] == max(epoch["valid_accuracy"] for epoch in found)


def test_private_parts_stay_bit_for_bit_and_shared_ones_are_trained(study, tuned):
    before = load(study / "model" / "checkpoint_last.pt")["model"]
    after = load(study / "tuned" / "checkpoint_last.pt")["model"]
    moved = {
        name
        for name, tensor in before.items()
        if name.startswith("encoder.") and not torch.equal(tensor, after[name])
    }
    private = {name for name in before if ".private." in name}
    assert private and not moved & private
    shared = {name for name in before if name.startswith("encoder.layers.1.")}
    assert shared <= moved
    assert moved - shared == {"encoder.embedding_norm.weight", "encoder.embedding_norm.bias"}


@pytest.mark.slow
def test_killed_and_started_again_it_ends_with_the_same_parameters(study, tuned, tmp_path):
    log = tmp_path / "killed.log"
    command = tuning(study, "killed")
    assert run_until(r'"num_updates": "2[0-9]"', *command, log=log)
    run(*command)
    assert_same_training(
        study / "tuned" / "checkpoint_last.pt", study / "killed" / "checkpoint_last.pt"
    )


@pytest.mark.slow
def test_loader_workers_change_nothing(study, tuned):
    run(*tuning(study, "workers", "--num-workers", "2"))
    assert_same_training(
        study / "tuned" / "checkpoint_last.pt", study / "workers" / "checkpoint_last.pt"
    )


def test_two_processes_share_the_items_and_count_each_once(study):
    printed = run(*tuning(study, "two"), processes=2).stdout
    steps = logged(printed, "train_inner")
    assert len(steps) == 4 * 5  # 9 batches for two
    assert sum(step["bsz"] for step in steps) == 4 * 60
    saved = load(study / "two" / "checkpoint_last.pt")["extra_state"]
    scored = run(
        *("fairseq-xling", "predict", str(study / "two" / "checkpoint_best.pt")),
        *(f"en={nli(study, 'valid')}", "--output", str(study / "two-found")),
    ).stdout
    assert f"{saved['best']:.2f}" in scored


def test_predictions_need_neither_the_encoder_nor_the_training_files(study, tuned, tmp_path):
    files = [study / "model", nli(study, "train")]
    for path in files:
        path.rename(path.with_name(f"{path.name}.hidden"))
    try:
        done = run(
            *("fairseq-xling", "predict", str(study / "tuned" / "checkpoint_best.pt")),
            *(f"en={nli(study, 'valid')}", f"de={nli(study, 'test', 'de')}"),
            *("--output", str(tmp_path / "found")),
        )
    finally:
        for path in files:
            path.with_name(f"{path.name}.hidden").rename(path)
    there = tmp_path / "found" / "scores.json"
    english, german = (value(there, measure="accuracy", target=lang) for lang in ("en", "de"))
    best = load(study / "tuned" / "checkpoint_best.pt")["extra_state"]["best"]
    assert english == pytest.approx(best, abs=1e-3)
    assert f"{german:.2f}" in done.stdout
    gold = [line.split("\t") for line in nli(study, "test", "de").read_text().splitlines()]
    found = (tmp_path / "found" / "nli.test.de.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in found]
    assert [row[:2] for row in rows] == [row[:2] for row in gold]
    right = sum(a[2] == b[2] for a, b in zip(rows, gold, strict=True))
    assert german == pytest.approx(100 * right / len(gold))


def with_empty_sides(source, path, lines):
    """A copy of a file of pairs, ``path``, whose second text is empty on these lines."""
    rows = [line.split("\t") for line in source.read_text().splitlines()]
    for line in lines:
        rows[line - 1][1] = ""
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    return path


def test_bad_rows_are_left_out_of_predictions_up_to_a_number(study, tuned, tmp_path):
    test = with_empty_sides(nli(study, "test", "de"), tmp_path / "test.de.tsv", (2, 5))
    call = ["fairseq-xling", "predict", str(study / "tuned" / "checkpoint_best.pt"), f"de={test}"]
    call += ["--output", str(tmp_path / "found")]
    for allowed in ((), ("--skip-bad", "1")):
        refused = run(*call, *allowed, check=False)
        line = 5 if allowed else 2
        assert refused.returncode and f"{test}:{line}: the text is empty" in refused.stdout
        assert not (tmp_path / "found").exists()
    done = run(*call, "--skip-bad", "2").stdout
    said = f"{test}: left out 2 bad row(s); the first: {test}:2: the text is empty"
    assert done.count(said) == 1
    rows = [line.split("\t")[:2] for line in test.read_text().splitlines()]
    found = (tmp_path / "found" / "test.de.tsv").read_text().splitlines()
    assert [line.split("\t")[:2] for line in found] == [row for row in rows if row[1]]


def test_bad_rows_are_left_out_of_training_up_to_a_number(study, tmp_path):
    train = with_empty_sides(nli(study, "train"), tmp_path / "train.en.tsv", (7,))
    call = tuning(study, "skipped", "--train-file", f"en={train}", "--max-epoch", "1")
    with pytest.raises(SystemExit, match=f"{train}:7: the text is empty"):
        in_process("train", *call[1:])
    done = in_process("train", *call[1:], "--skip-bad", "1")
    assert f"{train}: left out 1 bad row(s); the first: {train}:7: the text is empty" in done
    assert sum(step["bsz"] for step in logged(done, "train_inner")) == 59


@pytest.mark.slow
def test_spans_found_by_a_tagger_are_scored_as_seqeval_scores_the_written_file(study, tmp_path):
    train, valid = (study / "text" / "gold" / f"tags.{x}.en.tsv" for x in ("train", "valid"))
    gold = {"en": train, "de": study / "text" / "gold" / "tags.test.de.tsv"}
    files = ["--train-file", f"en={train}", "--valid-file", f"en={valid}"]
    options = "--head ner --head-options dropout=0 --max-epoch 30 --lr 1e-2".split()
    options += "--head-lr 1e-1 --best-checkpoint-metric f1".split()
    run(*tuning(study, "ner", *files, *options))
    run(
        *("fairseq-xling", "predict", str(study / "ner" / "checkpoint_best.pt")),
        *(f"{lang}={path}" for lang, path in gold.items()),
        *("--output", str(tmp_path / "found")),
    )
    for lang, path in gold.items():
        found = (tmp_path / "found" / f"{path.stem}.conll").read_text().split("\n")
        rows = [[line.split("\t") for line in path.read_text().split("\n")]]
        rows.append([line.split("\t") for line in found])
        assert [row[:-1] for row in rows[0]] == [row[:-1] for row in rows[1]]
        gold_tags, tags = ([[row[-1] or "O" for row in lines]] for lines in rows)
        ours = value(tmp_path / "found" / "scores.json", target=lang, measure="f1")
        assert ours == pytest.approx(100 * f1_score(gold_tags, tags))
        assert lang == "de" or ours > 20


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--head", "classify"], "unknown `--head` 'classify'; did you mean 'classification'"),
        (["--train-file", "fr=x"], "unknown language of this model 'fr'; known: en, de"),
        (["--train-file", "en=none.tsv"], "none.tsv: no such file"),
        (["--train-file", "en={text}"], "train.en.txt: nothing in it is annotated"),
        (["--encoder", ""], "`--encoder` must name the checkpoint of a trained encoder"),
        (["--freeze-layers", "3"], "`--freeze-layers` must lie in [0, 2], got 3"),
        (["--head-options", "x=1"], "`--head-options`: unknown setting 'x'"),
        (["--languages", "de,en"], "was trained with other languages"),
        (["--lr", "0", "--head-lr", "1"], "`--head-lr` needs an `--lr` above 0, got 0"),
        (["--best-checkpoint-metric", "acc"], "unknown `--best-checkpoint-metric` 'acc'"),
        (["--unknown-labels", "skip"], "`--unknown-labels` must be refuse or wrong, got 'skip'"),
    ],
)
def test_mistakes_are_answered_in_one_line(study, extra, message):
    text = study / "text" / "mono" / "train.en.txt"
    extra = [one.format(text=text) for one in extra]
    with pytest.raises(SystemExit, match=re.escape(message)) as refused:
        in_process("train", *tuning(study, "mistake", *extra)[1:])
    assert str(refused.value).startswith("fairseq-xling: error: ")
    assert "\n" not in str(refused.value)


def evaluation(study, folder, *extra):
    return [
        *("fairseq-xling", "eval", "transfer", "--output", str(study / folder)),
        *("--encoder", f"ours={study / 'model' / 'checkpoint_last.pt'}"),
        *("--data", str(study / "data"), "--train", f"en={nli(study, 'train')}"),
        *("--valid", f"en={nli(study, 'valid')}", "--epochs", "2", *extra),
    ]


@pytest.mark.slow
def test_a_study_chooses_on_dev_tests_once_and_writes_one_table(study):
    bad = study / "broken.de.tsv"
    bad.write_text("a\tb\tneutral\na\tb\n")
    options = [
        *("--scratch", f"new={study / 'model' / 'checkpoint_last.pt'}"),
        *("--lrs", "1e-3,1e-2", "--batch-sizes", "16", "--seeds", "1,2"),
        *("--test", f"en={nli(study, 'test')}"),
    ]
    # A file to test on is not looked at before the test: all is trained, then its row is named.
    done = run(*evaluation(study, "run", *options, "--test", f"de={bad}"), check=False)
    assert done.returncode == 1
    assert f"| fairseq-xling: error: {bad}:2: must have 3 columns" in done.stdout
    assert "step 'test-ours-zero-shot' failed" in done.stdout.strip().splitlines()[-1]
    assert done.stdout.count("done in") == 4
    done = run(*evaluation(study, "run", *options, "--test", f"de={nli(study, 'test', 'de')}"))
    assert done.stdout.count(": done before") == 4
    lines = (study / "run" / "table.md").read_text().splitlines()
    assert lines[0] == "| encoder | en | de | mean of targets | gap |"
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| ours", "| new"]
    assert all("±" in line for line in lines[2:4])
    for row in ("ours", "new"):
        dev, tests = (rows_of(study / "run", part=part, row=row, set=given, measure="accuracy")
                      for part, given in (("dev", None), ("test", "test")))  # fmt: skip
        means = {setting: sum(values) / 2 for (setting,), values in figures(dev, "setting").items()}
        assert {one["setting"] for one in tests} == {max(means, key=means.get)}
        assert distinct(tests, "seed") == [1, 2] and distinct(tests, "target") == ["en", "de"]
        assert len(tests) == 2 * 2
        models = distinct(tests, "{setting}-{seed}")
        folder = study / f"run/predictions/{row}-zero-shot"
        assert sorted(path.name for path in folder.iterdir()) == models
    with open(study / "run" / "table.csv", newline="") as file:
        tested = [one for one in csv.DictReader(file) if one["set"] == "test"]
        assert len(tested) == 2 * 2 * 2
    assert "<svg" in (study / "run" / "report.html").read_text()


@pytest.mark.slow
def test_shift_and_translations_are_further_rows(study):
    done = run(
        *evaluation(study, "more", "--test", f"de={nli(study, 'test', 'de')}"),
        *("--translate-test", f"de={nli(study, 'test')}"),
        *("--translate-train", f"de={nli(study, 'train', 'de')}"),
        *("--shift-layer", "1", "--shift-dev", f"de={nli(study, 'valid', 'de')}"),
    )
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line.startswith("| ours")]
    assert rows == [
        "| ours",
        "| ours, shifted",
        "| ours, translate-test",
        "| ours, translate-train",
    ]
    moved = {"shifted": True, "task": "de", "measure": "accuracy"}
    dev = {one["alpha"]: one["value"] for one in rows_of(study / "more", part="dev", **moved)}
    (tested,) = rows_of(study / "more", part="test", **moved)
    assert max(dev.values()) == dev[tested["alpha"]]
    assert len(dev) == 20


@pytest.mark.slow
def test_several_test_sets_of_a_language_are_scored_apart(study):
    half = study / "half.de.tsv"
    half.write_text("".join(nli(study, "test", "de").read_text().splitlines(keepends=True)[::2]))
    done = run(
        *evaluation(study, "sets", "--test", f"de={nli(study, 'test', 'de')}"),
        *("--test", f"test1.de={half}", "--test", f"test2.de={nli(study, 'valid', 'de')}"),
    )
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line.startswith("| ours")]
    assert rows == ["| ours", "| ours, test1", "| ours, test2"]
    labels = set(distinct(rows_of(study / "sets", part="test", measure="accuracy"), "task"))
    assert labels == {"de", "test1.de", "test2.de"}
    (folder,) = (study / "sets/predictions/ours-zero-shot").iterdir()
    whole, part, _ = (
        (folder / f"{label}.tsv").read_text().splitlines() for label in sorted(labels)
    )
    assert part == whole[::2]


@pytest.mark.slow
def test_a_matrix_has_every_language_both_ways(study):
    done = run(
        *("fairseq-xling", "eval", "matrix", "--output", str(study / "matrix")),
        *("--encoder", str(study / "model" / "checkpoint_last.pt"), "--epochs", "1"),
        *("--data", str(study / "data")),
        *(
            part
            for lang in ("en", "de")
            for option, split in (("--train", "train"), ("--valid", "valid"), ("--test", "test"))
            for part in (option, f"{lang}={nli(study, split, lang)}")
        ),
    )
    table = [line for line in done.stdout.splitlines() if line.startswith("| model")]
    assert [line.split(" | ")[0] for line in table] == [
        "| model, trained on en",
        "| model, trained on de",
    ]
