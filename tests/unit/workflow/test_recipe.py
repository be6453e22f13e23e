"""Steps from calls: their names, what equal ones and unasked-for ones become, and their table."""

import dataclasses
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.reports.pivot import Table
from fairseq_xling.reports.record import Section, read_record
from fairseq_xling.workflow import call
from fairseq_xling.workflow.recipe import THEN, Run, Study, trainings
from fairseq_xling.workflow.runner import Runner


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path / "run", None)


def test_outputs_and_names_are_filled_in_and_the_first_output_is_returned(run):
    made = run(
        "copy",
        "cp a {out}",
        THEN,
        ["cp", Path("b c"), "{out1}"],
        "{name}",
        to="x/{name}",
        also=["y"],
    )
    assert made == run.folder / "x/copy"
    (step,) = run.steps.values()
    assert step.outputs == [made, run.folder / "y"] and run.log(made) == step.log(run.folder)
    folder = str(run.folder)
    assert step.commands == [["cp", "a", f"{folder}/x/copy"], ["cp", "b c", f"{folder}/y", "copy"]]


def test_an_equal_step_is_one_and_another_of_its_name_is_refused(run):
    first = run("a", "cp x {out}", to="{name}")
    assert run("a", "cp x {out}", to="{name}") == first and len(run.steps) == 1
    with pytest.raises(ValueError, match="two steps are called 'a'"):
        run("a", "cp y {out}", to="{name}")


def test_rows_share_what_is_equal_and_label_what_is_not(run):
    def row(label, text):
        own = run.labelled(label)
        data = own("data", "cp text {out}", to="{name}", first_unlabelled=True)
        return own("train", "cp", [data, text, "{out}"], to="{name}")

    found = [row("one", "x"), row("two", "x"), row("three", "y")]
    assert [path.name for path in found] == ["train-one", "train-one", "train-three"]
    assert list(run.steps) == ["data", "train-one", "train-three"]
    changed = run.labelled("two")("data", "cp other {out}", to="{name}", first_unlabelled=True)
    assert changed.name == "data-two"


def test_a_folder_may_have_the_name_of_a_mark(tmp_path):
    run = Run(tmp_path / "{name}" / "{x}", None)
    first = run("a", "cp text {out}", to="a.txt")
    second = run("b", "cp", [first, "{out}"], to="b.txt")
    assert run.steps["b"].commands == [["cp", str(first), str(second)]]
    assert [step.name for step in run.needed([second])] == ["a", "b"]


def test_only_what_something_is_built_on_is_needed(run):
    text = run("text", "cp a {out}", to="text.txt")
    data = run("data", "cp", [text, "{out}"], to="data.txt")
    run("unasked", "cp", [text, "{out}"], to="other.txt")
    assert [step.name for step in run.needed([data])] == ["text", "data"]


VALUES = {
    "path": Path("a b.txt"), "count": 7, "share": 0.5, "flag": True, "none": None, "text": "x=1,y",
    "digits": "12", "seeds": [1, 2], "no": [], "nobody": {},
    "files": {"de": [Path("x.txt")], "id": ["7"]},
}  # fmt: skip


def test_a_function_gets_the_values_that_its_command_was_made_of():
    words = call.command(write, VALUES)
    assert words[:4] == ["python", "-m", "fairseq_xling.workflow.call", f"{__name__}:write"]
    found = call.arguments(shlex.split(shlex.join(words))[4:])
    strings = {"path": "./a b.txt", "files": {"de": ["./x.txt"], "id": ["7"]}}
    assert found == {**VALUES, **strings}


def write(output, text):
    Path(output).write_text(text)


def test_a_function_is_a_command_that_can_be_repeated(run, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    (tmp_path / "own.py").write_text(
        "from pathlib import Path\nfrom fairseq_xling.core.errors import UserError\n"
        "def copy(source, output, times):\n"
        "    if times > 9:\n        raise UserError(f'`times` must be at most 9, got {times}')\n"
        "    Path(output).write_text(Path(source).read_text() * times)\n"
    )
    import own

    source = tmp_path / "source.txt"
    source.write_text("ab")
    values = {"source": source, "output": "{out}", "times": 2}
    made = run.function("copy", own.copy, values=values, to="copied.txt")
    Runner(run.folder, list(run.steps.values())).run()
    assert made.read_text() == "abab"
    source.write_text("c")  # it is an input because the command names it
    Runner(run.folder, list(run.steps.values())).run()
    assert made.read_text() == "cc"
    words = [sys.executable, *call.command(own.copy, {**values, "times": 10})[1:]]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "fairseq-xling: error: `times` must be at most 9, got 10\n"


@dataclasses.dataclass(frozen=True)
class Options:
    sizes: str = option("1,2", "sizes")
    jobs: int = option(1, "jobs", least=1)


class Sizes(Study):
    name, options, title, source, lead = "sizes", Options, "Sizes", "no paper", "None."

    def plan(self, run, o):
        run("unasked", "false", to="nothing")
        for size in filter(None, o.sizes.split(",")):
            words = ["sh", "-c", f"echo {size} > $0", "{out}"]
            run.measured({"size": run(f"size-{size}", words, to=f"{size}.txt")}, row=size)

    def read(self, cell):
        yield {"measure": "size", "value": int(cell.files["size"].read_text())}

    def sections(self, rows, o):
        yield Section("Table", Table({"": "row"}, "measure"), name="table")


def test_a_study_runs_what_it_measures_and_writes_its_record(tmp_path):
    steps = Sizes().steps(tmp_path / "run", Options())
    assert [step.name for step in steps] == ["size-1", "size-2", "table"]
    Runner(tmp_path / "run", steps).run()
    record = read_record(tmp_path / "run")
    assert [(row["study"], row["row"], row["value"]) for row in record.rows] == [
        ("sizes", "1", 1), ("sizes", "2", 2),
    ]  # fmt: skip
    assert record.commands[0].startswith("sh -c 'echo 1") and (tmp_path / "run/table.md").is_file()
    assert json.loads((tmp_path / "run/results.json").read_text())["config"]["sizes"] == "1,2"


def test_a_study_that_measures_nothing_says_so(tmp_path):
    with pytest.raises(UserError, match="these settings leave nothing to measure"):
        Sizes().steps(tmp_path / "run", Options(sizes=""))


def test_a_row_has_the_updates_behind_it_and_what_its_seeds_share(run, tmp_path):
    def train(name, updates):
        return run(f"train-{name}", f"fairseq-train data --max-update {updates}", to=f"{name}.pt")

    (ready := tmp_path / "en" / "ready.pt").parent.mkdir()
    ready.write_text("")
    for seed in (1, 2):
        own, common = train(f"own-{seed}", 300), train("common", 100)
        vectors = run("vectors", "fairseq-xling embed train {out}", to="vectors")
        states = run(f"states-{seed}", "cp", own, "{out}", to=f"{seed}")
        run.measured({"a": states, "b": own}, row="alone", seed=seed)
        run.measured({"a": states, "b": common, "c": vectors}, row="both", seed=seed)
        run.measured({"d": run("ready", "cp", ready, "{out}", to="states")}, row="ready", seed=seed)
    run.measured({"c": vectors, "e": run.folder / "own-2.pt"}, row="other", seed=1)
    alone, both = {"updates": 300, "shared": None}, {"updates": 400, "shared": "train-common"}
    found = trainings(run.cells, list(run.steps.values()))
    given = {"updates": None, "shared": "en/ready.pt"}
    assert found == [alone, both, given] * 2 + [alone]  # another row may use what seed 2 does
