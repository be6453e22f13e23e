"""Commands of a plan are read as their programs would read them, before any of them runs."""

import sys

import pytest

from fairseq_xling import USER_DIR
from fairseq_xling.core.errors import UserError
from fairseq_xling.workflow.commands import check_command, named_files
from fairseq_xling.workflow.runner import Runner
from fairseq_xling.workflow.step import Step

TRAIN = (
    *("fairseq-train", "no-data", "--user-dir", str(USER_DIR), "--task", "cdlm"),
    *("--arch", "tri_bert_tiny", "--criterion", "unified_lm", "--optimizer", "adam"),
)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ((*TRAIN, "--max-tokens", "x"), "fairseq-train: argument --max-tokens: invalid int value"),
        ((*TRAIN, "--mask-prob", "2"), "fairseq-train: `--mask-prob` must lie in [0, 1], got 2.0"),
        ((*TRAIN, "--no-such", "1"), "fairseq-train: unrecognized arguments: --no-such 1; "),
        (
            ("fairseq-generate", "no-data", "--task", "cdlm", "--length-candidates", "0"),
            "fairseq-generate: `--length-candidates` must lie in [1, 16], got 0",
        ),
        (
            ("fairseq-xling", "eval", "tatoeba", "a", "b", "--k", "x", "--output", "o"),
            "fairseq-xling: `--k` must be a whole number, got 'x'",
        ),
        (("fairseq-xling", "mean"), "fairseq-xling: the following arguments are required: "),
    ],
)
def test_an_argument_that_a_program_would_refuse_is_found(command, line, capsys):
    with pytest.raises(UserError) as error:
        check_command("one", command)
    assert str(error.value).startswith(f"step 'one' would fail: {line}")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "command", [TRAIN, ("python", "--max-tokens", "0"), ("fairseq-score", "--sys", "x")]
)
def test_what_is_right_and_other_programs_pass(command):
    before = [*sys.path]
    check_command("one", command)
    assert sys.path == before


def test_a_plan_is_refused_for_what_its_run_would_be(tmp_path):
    steps = [
        Step("first", [[sys.executable, "-c", "open('x', 'w')"]], outputs=[tmp_path / "run/x"]),
        Step("train", [[*TRAIN, "--mask-prob", "2"]], outputs=[tmp_path / "run" / "model"]),
    ]
    runner = Runner(tmp_path / "run", steps)
    lines = []
    for act in (runner.print_plan, runner.run):
        with pytest.raises(UserError) as error:
            act()
        lines.append(str(error.value))
    rule = "`--mask-prob` must lie in [0, 1], got 2.0"
    assert lines == [f"step 'train' would fail: fairseq-train: {rule}"] * 2
    assert not (tmp_path / "run").exists()


def test_a_folder_that_a_step_will_fill_may_be_there_already(tmp_path):
    text = tmp_path / "text"
    command = ("fairseq-xling", "prepare", "data", "--from", str(text), "--languages", "de,en")
    text.mkdir()
    assert (str(text), False) in list(named_files(command))
    (text / "mono").mkdir()
    with pytest.raises(UserError, match="holds neither mono"):
        list(named_files(command))
