"""How a run is launched, from its command line and a file, and what it prints at the end."""

import argparse

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.workflow.launcher import add_launch_options, launch_of, run_steps
from fairseq_xling.workflow.launchers.local import Local
from fairseq_xling.workflow.launchers.slurm import Slurm
from fairseq_xling.workflow.settled import Settled, settle
from fairseq_xling.workflow.step import Step


def given(*words):
    parser = argparse.ArgumentParser()
    add_launch_options(parser)
    return argparse.Namespace(**vars(parser.parse_args(words)), argv=["study", *words])


def made(tmp_path, *words):
    return launch_of(given(*words)).launcher(tmp_path, 3, print)


def test_steps_run_here_unless_something_else_is_asked_for(tmp_path):
    assert type(made(tmp_path)) is Local and made(tmp_path).limit == 3
    assert type(made(tmp_path, "--launcher", "slurm", "--only-step", "x")) is Local


def test_the_command_line_takes_precedence_over_the_file(tmp_path):
    file = tmp_path / "slurm.yaml"
    file.write_text("partition: gpu\ntimeout_min: 60\nsetup: [module load cuda, ulimit -c 0]\n")
    words = ("--launcher", "slurm", "--launcher-config", str(file))
    slurm = made(tmp_path, *words, "--launcher-args", "timeout_min=90,max_jobs=7")
    assert type(slurm) is Slurm and slurm.limit == 7
    values = slurm.values
    assert (values.partition, values.timeout_min) == ("gpu", 90)
    assert values.setup == ("module load cuda", "ulimit -c 0")
    assert slurm.command("a")[:4] == ["fairseq-xling", "study", "--launcher", "slurm"]
    assert slurm.command("a")[-2:] == ["--only-step", "a"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["--launcher", "slrum"], "`--launcher`: unknown launcher 'slrum'; did you mean 'slurm'?"),
        (["--launcher-args", "qos=a"], "`--launcher-args`: unknown option 'qos'; known: none"),
        (["--launcher", "slurm", "--launcher-args", "gpu"], "must be NAME=VALUE,..., got 'gpu'"),
        (
            ["--launcher", "slurm", "--launcher-args", "timeout_min=0"],
            "`--timeout-min` must be at least 1, got 0",
        ),
    ],
)
def test_wrong_options_are_one_line(tmp_path, words, message):
    with pytest.raises(UserError) as error:
        made(tmp_path, *words)
    assert message in str(error.value)


def steps_of(run):
    def write():
        (run / "table.md").write_text("| the table |\n")

    return [Step("table", call=write, outputs=[run / "table.md"])]


def test_a_plan_runs_nothing_and_a_run_ends_with_its_table_and_where_things_are(tmp_path, capsys):
    run, settled = tmp_path / "run", Settled("fp32", "cpu", "precision: fp32")
    plan = launch_of(given("--dry-run"))
    run_steps(run, steps_of(run), 1, plan, settled, before="left out: x")
    printed = capsys.readouterr().out
    assert "[1/1] table: run" in printed and "left out" not in printed and not run.exists()
    run_steps(run, steps_of(run), 1, launch_of(given()), settled, before="left out: x")
    printed = capsys.readouterr().out
    assert printed.startswith("precision: fp32\nleft out: x\n") and "\n| the table |\n" in printed
    assert printed.endswith(f"report: {run}/report.html\nexact commands: {run}/commands.sh\n")
    assert settle(run, "auto", "cpu").precision == "fp32"  # kept, whatever this machine can do
