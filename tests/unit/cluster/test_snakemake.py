"""The Snakefile of a run, read as text; tests/slurm has Snakemake carry one out."""

import re
from pathlib import Path

from fairseq_xling.cluster.snakemake import write_snakefile
from fairseq_xling.runs.launcher import step_command
from fairseq_xling.runs.step import Step, digests


def written(run, steps, command=("fairseq-xling", "study")):
    run.mkdir()
    told = write_snakefile(run, steps, digests(steps), lambda n: step_command(command, n), 4)
    return told, (run / "Snakefile").read_text()


def test_each_step_is_a_rule_after_those_whose_outputs_it_reads(tmp_path):
    run, text = tmp_path / "run", tmp_path / "text {de}"
    text.write_text("words")
    train = ["fairseq-train", "data", "--distributed-world-size", "2"]
    steps = [
        Step("train", [train], inputs=[text], outputs=[run / "model"], resumable=True),
        Step("table", call=print, inputs=[run / "model" / "last.pt"], outputs=[run / "table.md"]),
    ]
    told, file = written(run, steps)
    assert told.startswith(f"carry it out by `snakemake --snakefile {run}/Snakefile --cores ")
    rules = {}
    for block in re.split(r"\n\nrule:\n", file)[1:]:
        found = re.findall(r"^ +(\w+): (.*?)(?=\n    \w|\Z)", block, re.MULTILINE | re.DOTALL)
        rules[dict(found)["name"]] = dict(found)
    train, table = rules["'train'"], rules["'table'"]
    done = f"{run}/.steps/train.done"
    assert train["input"] == repr([f"{tmp_path}/text {{{{de}}}}"])  # no wildcard
    assert train["output"] == f"touch({done!r})"
    assert f"outputs={[str(run / 'model')]}" in train["params"]
    assert (train["threads"], train["resources"]) == ("4", "gpu=2")
    assert train["shell"].strip().endswith("fairseq-xling study --only-step train'")
    assert table["input"] == repr([done])
    assert (table["threads"], table["resources"]) == ("1", "gpu=0")
    assert f"input: {[done, done.replace('train.', 'table.')]}" in file.split("\n\nrule:\n")[0]


def test_what_changes_a_step_changes_its_rule(tmp_path):
    def rule(name, setting):
        step = Step("a", call=print, settings={"n": setting}, outputs=[Path("run", "a")])
        return re.search(r"digest='(\w+)'", written(tmp_path / name, [step])[1])[1]

    assert rule("one", 1) == rule("same", 1) != rule("other", 2)


def test_words_are_quoted_for_the_shell_and_braces_for_snakemake(tmp_path):
    step = Step("a", call=print, outputs=[tmp_path / "run" / "a"])
    _, file = written(tmp_path / "run", [step], ("fairseq-xling", "study", "{a} b"))
    assert "study '{{a}} b' --only-step a" in file
