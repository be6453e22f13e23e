"""What a study does from its steps to what it prints at the end."""

import argparse

from fairseq_xling.runs.carry_out import carry_out
from fairseq_xling.runs.launching import add_launch_options
from fairseq_xling.runs.settled import Settled, settle
from fairseq_xling.runs.step import Step


def given(*words):
    """The arguments of a command that has no options but those of every run."""
    parser = argparse.ArgumentParser()
    add_launch_options(parser)
    return argparse.Namespace(**vars(parser.parse_args(words)), argv=["study", *words])


def steps_of(run):
    def write():
        (run / "table.md").write_text("| the table |\n")

    return [Step("table", call=write, outputs=[run / "table.md"])]


def test_a_plan_runs_nothing_and_a_run_ends_with_its_table_and_where_things_are(tmp_path, capsys):
    run, settled = tmp_path / "run", Settled("fp32", "cpu", "precision: fp32")
    carry_out(
        run, steps_of(run), jobs=1, args=given("--dry-run"), settled=settled, before="left out: x"
    )
    printed = capsys.readouterr().out
    assert "[1/1] table: run" in printed and "left out" not in printed and not run.exists()
    carry_out(run, steps_of(run), 1, given(), settled, before="left out: x")
    printed = capsys.readouterr().out
    assert printed.startswith("precision: fp32\nleft out: x\n") and "\n| the table |\n" in printed
    assert printed.endswith(f"report: {run}/report.html\nexact commands: {run}/commands.sh\n")
    assert settle(run, "auto", "cpu").precision == "fp32"  # kept, whatever this machine can do
