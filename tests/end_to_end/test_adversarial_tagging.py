"""`--task adversarial_tagging` through fairseq's trainer and our verbs, on files of a few names."""

import itertools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from seqeval.metrics import f1_score, precision_score, recall_score

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from fairseq_xling.mapping.vectors_file import Vectors, read_vectors, write_vectors
from fairseq_xling.tasks.formats.conll import Conll
from tests.end_to_end.engine import (
    assert_same_training,
    differences,
    in_process,
    load,
    logged,
)
from tests.records import measured

NAMES = {"PER": ["Ann", "Bob", "Cyd"], "LOC": ["Rome", "Oslo", "Lima"]}
PLAIN = ["sees", "meets", "the", "old", "dog", "in", "."]
SMALL = (
    "--encoder-hidden 6 --tagger-hidden 5 --projection 5 --char-maps 3 --char-dim 4 "
    "--discriminator-maps 4 --optimizer sgd --momentum 0.9 --lr 0.1 --lr-scheduler fixed "
    "--clip-norm 5 --batch-size 4 --max-epoch 3 --best-checkpoint-metric f1 "
    "--maximize-best-checkpoint-metric --cpu --num-workers 0 --log-format json --log-interval 1 "
    "--no-progress-bar"
).split()


def word(lang, text):
    """German words are English ones backwards."""
    return text[::-1] if lang == "de" else text


def sentences(lang, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rows = [(word(lang, str(w)), "O") for w in rng.choice(PLAIN, rng.integers(1, 4))]
        for kind in rng.permutation(list(NAMES))[: rng.integers(1, 3)]:
            first, second = rng.choice(NAMES[kind], 2)
            rows += [(word(lang, str(first)), f"B-{kind}")]
            if rng.random() < 0.5:
                rows += [(word(lang, str(second)), f"I-{kind}")]
            rows += [(word(lang, str(w)), "O") for w in rng.choice(PLAIN, 1)]
        yield rows


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Annotated files, text and vectors of both languages, German rotated."""
    root = tmp_path_factory.mktemp("names")
    for lang, (split, count) in itertools.product(
        ("en", "de"), (("train", 30), ("valid", 10), ("test", 12))
    ):
        found = list(sentences(lang, count, len(lang) * count + (lang == "de")))
        lines = ["".join(f"{w}\t{t}\n" for w, t in rows) for rows in found]
        (root / f"{split}.{lang}.tsv").write_text("\n".join(lines))
        text = "".join(" ".join(w for w, _ in rows) + "\n" for rows in found)
        (root / f"{split}.{lang}.txt").write_text(text)
    rng = np.random.default_rng(1)
    words = [*itertools.chain(*NAMES.values()), *PLAIN]
    english = rng.normal(size=(len(words), 5)).astype(np.float32)
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0].astype(np.float32)
    counts = np.arange(len(words), 0, -1)
    for lang, vectors, w in (("en", english, rotation), ("de", english @ rotation, None)):
        symbols = ["▁" + word(lang, text) for text in words]
        made = Vectors(vectors, counts, symbols, map=w)
        write_vectors(root / f"{lang}.safetensors", made)
    return root


def options(world, folder, *extra, adversary="reversal"):
    text = ["--text-file", f"de={world}/train.de.txt"]
    text += ["--valid-text-file", f"de={world}/valid.de.txt", "--adversary", adversary]
    return [
        *("--user-dir", USER_DIR, "--task", "adversarial_tagging"),
        *("--arch", "adversarial_tagger", "--criterion", "adversarial_tagging"),
        *("--languages", "en,de"),
        *("--vectors", f"en={world}/en.safetensors,de={world}/de.safetensors"),
        *("--map", world / "en.safetensors"),
        *("--train-file", f"en={world}/train.en.tsv"),
        *("--valid-file", f"en={world}/valid.en.tsv"),
        *(text if adversary != "none" else ()),
        *("--save-dir", folder, *SMALL, *extra),
    ]


@pytest.fixture(scope="module")
def trained(world, tmp_path_factory):
    """A zero-shot training, and the files it opened."""
    folder, opened = tmp_path_factory.mktemp("trained"), []
    listening = [True]

    def listen(event, arguments):
        if event == "open" and listening:
            opened.append(str(arguments[0]))

    sys.addaudithook(listen)  # cannot be removed again
    output = in_process("train", *options(world, folder))
    listening.clear()
    return folder, output, opened


def test_zero_shot_training_never_opens_annotation_of_the_target(world, trained):
    _, _, opened = trained
    read = {Path(name).name for name in opened if name.startswith(str(world))}
    assert {"train.en.tsv", "valid.en.tsv", "train.de.txt"} <= read
    assert not [name for name in read if name.endswith(".de.tsv")]


def test_the_map_and_the_tables_are_the_same_bits_after_training(world, trained):
    folder, _, _ = trained
    model = load(folder / "checkpoint_last.pt")["model"]
    english, german = (read_vectors(world / f"{lang}.safetensors") for lang in ("en", "de"))
    w = torch.from_numpy(english.map)
    mapped = (torch.from_numpy(english.vectors).double() @ w.double()).float()
    assert torch.equal(model["map"], w)
    assert torch.equal(model["table_0"][1:], mapped)
    assert torch.equal(model["table_1"][1:], torch.from_numpy(german.vectors))
    assert model["table_0"][0].eq(0).all() and model["table_1"][0].eq(0).all()


def test_an_epoch_reports_losses_the_scores_and_the_discriminators_accuracy(trained):
    _, output, _ = trained
    valid, train = logged(output, "valid")[-1], logged(output, "train")[-1]
    assert {"valid_f1", "valid_precision", "valid_recall", "valid_loss"} <= valid.keys()
    assert 0 <= valid["valid_f1"] <= 100 and 0 <= valid["valid_language_accuracy"] <= 1
    assert {"train_tagging_loss", "train_language_loss", "train_language_accuracy"} <= train.keys()
    assert train["train_loss"] < logged(output, "train")[0]["train_loss"]
    assert train["train_num_updates"] == 3 * 8  # 30 sentences of each, 4 at a time


def test_predictions_have_the_files_own_format_and_seqevals_scores(world, trained, tmp_path):
    folder, _, _ = trained
    files = [f"{lang}={world}/test.{lang}.tsv" for lang in ("en", "de")]
    command = ["predict", str(folder / "checkpoint_best.pt"), *files, "--output", str(tmp_path)]
    assert main(command) == 0
    for lang in ("en", "de"):
        given, found = world / f"test.{lang}.tsv", tmp_path / f"test.{lang}.conll"
        gold, ours = ([list(item.tags) for item in Conll.read(p, {})] for p in (given, found))
        assert [line.split("\t")[0] for line in found.read_text().splitlines()] == [
            line.split("\t")[0] for line in given.read_text().splitlines()
        ]
        own = measured(tmp_path / "scores.json", target=lang)
        for name, measure in (
            ("f1", f1_score),
            ("precision", precision_score),
            ("recall", recall_score),
        ):
            assert own[name] == pytest.approx(100 * measure(gold, ours, zero_division=0))


def test_text_without_tags_and_files_that_are_gone_do_not_hinder_predictions(
    world, trained, tmp_path
):
    """A checkpoint needs no other file, and reads none of those that it names."""
    folder, _, _ = trained
    checkpoint = tmp_path / "moved.pt"
    state = load(folder / "checkpoint_best.pt")
    for name in ("vectors", "train_file", "valid_file", "text_file", "valid_text_file", "map"):
        state["cfg"]["task"][name] = f"{tmp_path}/none-of-these"
    torch.save(state, checkpoint)
    (tmp_path / "plain.tsv").write_text("nnA\nsees\n\n.\n")
    files = [f"de={tmp_path}/plain.tsv"]
    command = ["predict", str(checkpoint), *files, "--output", str(tmp_path / "out")]
    assert main(command) == 0
    rows = (tmp_path / "out" / "de.plain.conll").read_text().splitlines()
    assert [row.split("\t")[0] for row in rows] == ["nnA", "sees", "", "."]
    assert all(len(row.split("\t")) == 2 for row in rows if row)


@pytest.mark.slow
@pytest.mark.parametrize("adversary", ["reversal", "flip"])
def test_two_runs_of_one_seed_are_identical_and_another_seed_differs(world, tmp_path, adversary):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        extra = ("--seed", seed, "--max-epoch", 2, "--no-epoch-checkpoints")
        in_process("train", *options(world, tmp_path / name, *extra, adversary=adversary))
    paths = [tmp_path / name / "checkpoint_last.pt" for name in "abc"]
    assert_same_training(*paths[:2])
    assert differences(load(paths[0])["model"], load(paths[2])["model"])


@pytest.mark.parametrize("adversary", [pytest.param("reversal", marks=pytest.mark.slow), "flip"])
def test_a_training_that_is_stopped_within_an_epoch_resumes_identically(world, tmp_path, adversary):
    extra = ("--flip-steps", 2, "--adversary-schedule", "ramp", "--no-epoch-checkpoints")
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    in_process("train", *options(world, whole, *extra, adversary=adversary))
    every = ("--save-interval-updates", 5, "--keep-interval-updates", 1)
    in_process("train", *options(world, halves, *extra, *every, adversary=adversary))
    (first,) = [p for p in halves.glob("checkpoint_*_*.pt") if "last" not in p.name][:1]
    updates = int(first.stem.rsplit("_", 1)[1])
    assert 0 < updates < 24
    for path in halves.glob("checkpoint*.pt"):
        if path != first:
            path.unlink()
    shutil.move(first, halves / "checkpoint_last.pt")
    in_process("train", *options(world, halves, *extra, adversary=adversary))
    assert_same_training(whole / "checkpoint_last.pt", halves / "checkpoint_last.pt")


def test_an_update_of_the_discriminator_moves_nothing_else_and_the_reverse(world, tmp_path):
    states = {}
    for updates in (1, 2):
        folder = tmp_path / str(updates)
        extra = ("--max-update", updates, "--dropout", 0, "--discriminator-dropout", 0)
        in_process("train", *options(world, folder, *extra, adversary="flip"))
        states[updates] = load(folder / "checkpoint_last.pt")["model"]
    moved = [n for n in states[1] if not torch.equal(states[1][n], states[2][n])]
    assert moved and not [name for name in moved if name.startswith("discriminator")]


def test_low_resource_training_selects_by_the_target_and_reports_the_source(world, tmp_path):
    both = ",".join(f"{lang}={world}/train.{lang}.tsv" for lang in ("en", "de"))
    dev = ",".join(f"{lang}={world}/valid.{lang}.tsv" for lang in ("en", "de"))
    extra = ("--low-resource", "--train-file", both, "--valid-file", dev, "--max-epoch", 1)
    output = in_process("train", *options(world, tmp_path, *extra, adversary="none"))
    valid = logged(output, "valid")[-1]
    assert {"valid_f1", "valid_source_f1"} <= valid.keys()
    assert "valid_language_accuracy" not in valid


@pytest.mark.parametrize(
    "extra",
    [
        "--scheme iobes --char-filters language --cpu-bf16",
        "--tagger softmax --chars none --normalize centre,scale",
    ],
)
def test_every_choice_trains_and_predicts(world, tmp_path, extra):
    in_process("train", *options(world, tmp_path, *extra.split(), "--max-epoch", 1))
    checkpoint = str(tmp_path / "checkpoint_last.pt")
    files = [f"de={world}/test.de.tsv", "--output", str(tmp_path / "out")]
    assert main(["predict", checkpoint, *files]) == 0
    tags = {tag for item in Conll.read(tmp_path / "out/test.de.conll", {}) for tag in item.tags}
    assert tags <= {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}


def test_the_map_can_be_learnt_in_the_training(world, tmp_path, monkeypatch):
    from fairseq_xling.mapping.methods import METHODS, Fit

    right = torch.from_numpy(read_vectors(world / "en.safetensors").map)
    seeds = []

    def fit(self, moving, fixed, args, around):
        seeds.append(around.seed)
        return Fit(right if around.seed == 2 else torch.eye(5), [])

    monkeypatch.setattr(METHODS["adversarial"], "fit", fit)
    in_process("train", *options(world, tmp_path, "--map", "adversarial", "--max-epoch", 1))
    assert seeds == [1, 2, 3]
    model = load(tmp_path / "checkpoint_last.pt")["model"]
    assert torch.allclose(model["map"], right, atol=1e-4)
    assert (tmp_path / "map/mapped.safetensors").is_file()


WRONG = [
    ("--languages en", "`--languages` must be two with `--adversary reversal`"),
    ("--languages en,de,fr", "`--languages` must be one or two"),
    ("--train-file de={w}/train.de.tsv", "`--low-resource` also reads annotation of the target"),
    ("--low-resource", "`--train-file` must have a file of 'de'"),
    (
        "--low-resource --train-file en={w}/train.en.tsv,de={w}/plain.tsv "
        "--valid-file en={w}/valid.en.tsv,de={w}/valid.de.tsv",
        "nothing in it is annotated",
    ),
    ("--train-file en={w}/bad.tsv", "bad.tsv:2: the tag must be O, B-TYPE or I-TYPE, got 'PER'"),
    ("--train-file en={w}/ragged.tsv", "ragged.tsv:2: must have 2 columns"),
    ("--text-file de={w}/empty", "empty: contains no sentences"),
    ("--text-file en={w}/train.en.txt", "`--text-file` must be text of the target, de"),
    ("--vectors en={w}/en.safetensors,de={w}/narrow.vec", "`--vectors` must have equal width"),
    ("--vectors en={w}/en.safetensors", "`--vectors` must have a file of 'de'"),
    ("--map {w}/de.safetensors", "contains no map"),
    ("--scheme bioes", "`--scheme` must be bio or iobes"),
    ("--adversary flop", "unknown `--adversary` 'flop'"),
    ("--char-widths 0", "`--char-widths` must be different whole numbers"),
    ("--word-dim 7", "`--word-dim` must be the width of `--vectors`, 5, got 7"),
]


@pytest.fixture(scope="module")
def damaged(world):
    (world / "plain.tsv").write_text("a\nb\n")
    (world / "bad.tsv").write_text("a\tO\nb\tPER\n")
    (world / "ragged.tsv").write_text("a\tO\nb\n")
    (world / "text").write_text("the old dog\n")
    (world / "empty").write_text("")
    (world / "narrow.vec").write_text("2 3\nnnA 1 2 3\nboB 1 2 4\n")
    return world


@pytest.mark.parametrize(("extra", "message"), WRONG)
def test_wrong_input_is_one_line_and_nothing_is_written(damaged, tmp_path, extra, message):
    folder = tmp_path / "out"
    words = extra.format(w=damaged).split()
    with pytest.raises(SystemExit) as error:
        in_process("train", *options(damaged, folder, *words))
    assert message in str(error.value) and "\n" not in str(error.value).strip()
    assert not list(folder.glob("*.pt"))


def test_the_text_for_a_discriminator_is_asked_for(world, tmp_path):
    words = options(world, tmp_path, adversary="none")
    with pytest.raises(SystemExit, match="`--adversary flip` needs `--text-file`, text of de"):
        in_process("train", *words, "--adversary", "flip")


def test_other_words_are_refused_when_a_training_resumes(world, tmp_path):
    in_process("train", *options(world, tmp_path / "a", "--max-epoch", 1))
    lines = [
        f"{w[::-1]} 1 2 3 4 {n}" for n, w in enumerate(itertools.chain(*NAMES.values(), PLAIN))
    ]
    (tmp_path / "other.vec").write_text("\n".join(lines[::-1]) + "\n")
    vectors = f"en={world}/en.safetensors,de={tmp_path}/other.vec"
    with pytest.raises(SystemExit, match="trained with dictionaries"):
        in_process("train", *options(world, tmp_path / "a", "--vectors", vectors))
