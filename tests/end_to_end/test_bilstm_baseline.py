"""`--task bilstm_baseline` through fairseq's trainer and `predict`, on a few planted sentences."""

import random

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.cli import main
from tests.end_to_end.engine import assert_same_training, in_process, logged
from tests.records import value
from tests.unit.models.test_bilstm_baseline import CASES

SIZES = "--word-dim 8 --tag-dim 8 --lstm-layers 1 --lstm-hidden 8 --dropout 0.1".split()
# The optimiser of Dozat and Manning (2017), with another rate and period.
OPTIMISER = (
    "--optimizer adam --adam-betas (0.9,0.9) --lr 0.02 --lr-scheduler step --lr-deacy-period 20 "
    "--lr-decay 0.75"
).split()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of 40 and of 12 sentences for each head."""
    root, draw = tmp_path_factory.mktemp("lstm"), random.Random(1)
    for name, (write, _) in CASES.items():
        for split, count in (("train", 40), ("valid", 12)):
            (root / f"{split}.{name}").write_text("".join(write(draw) + "\n" for _ in range(count)))
    return root


def train(files, head, folder, *more):
    return in_process(
        "train",
        *("--user-dir", USER_DIR, "--task", "bilstm_baseline", "--arch", "bilstm_baseline"),
        *("--criterion", "cross_lingual_transfer", "--languages", "zh", "--head", head),
        *("--train-file", f"zh={files}/train.{head}", "--valid-file", f"zh={files}/valid.{head}"),
        *("--head-options", CASES[head][1], *SIZES, *OPTIMISER, "--batch-size", 8),
        *"--max-epoch 8 --cpu --num-workers 0 --log-format json --log-interval 1".split(),
        *("--no-epoch-checkpoints", "--no-progress-bar", "--save-dir", files / folder, *more),
    )


@pytest.mark.parametrize(
    ("head", "metric"), [("parsing", "las"), pytest.param("srl", "f1", marks=pytest.mark.slow)]
)
def test_a_baseline_is_trained_resumed_and_predicts_without_its_training_file(
    files, head, metric, capsys
):
    log = train(files, head, head)
    rates = [float(step["lr"]) for step in logged(log, "train_inner")]
    assert rates == [0.02] * 19 + [0.015] * 20 + [0.01125]  # a rate is the next update's
    train(files, head, f"{head}-halves", "--max-epoch", 4)
    train(files, head, f"{head}-halves")
    last = files / head / "checkpoint_last.pt"
    assert_same_training(last, files / f"{head}-halves" / "checkpoint_last.pt")
    (files / f"train.{head}").rename(files / "moved")
    output = files / f"{head}-predicted"
    try:
        command = ["predict", str(last), f"zh={files}/valid.{head}", "--output", str(output)]
        assert main(command) == 0
    finally:
        (files / "moved").rename(files / f"train.{head}")
    capsys.readouterr()
    valid = float(logged(log, "valid")[-1][f"valid_{metric}"])
    found = value(output / "scores.json", measure=metric)
    assert valid > 20 and found == pytest.approx(valid, abs=1e-2)


def test_mistakes_are_one_line(files):
    for more, message in (
        (
            ["--head", "ner", "--head-options", ""],
            "unknown `--head` of a baseline 'ner'; .*known: parsing, srl",
        ),
        (["--train-file", f"en={files}/train.parsing"], "unknown language of this model 'en'"),
    ):
        with pytest.raises(SystemExit, match=message):
            train(files, "parsing", "mistake", *more)
