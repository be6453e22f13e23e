"""The graph of steps, and tasks on what a migration leaves."""

from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.papers.trelm.inputs import check_config
from fairseq_xling.papers.trelm.plan import (
    Artifacts,
    MigrationPlan,
    StepGraph,
    add_tasks,
    task_figures,
)
from fairseq_xling.studies.gold_tasks import TASKS
from fairseq_xling.workflow.step import Step
from tests.transfer_record import transfer_record

RUN = Path("run")


def maker(*inputs, option="1"):
    """A step that writes one file named after it."""

    def build(name):
        output = RUN / f"{name}.txt"
        command = ["make", option, *map(str, inputs), "--output", str(output)]
        return Step(name, commands=[command], inputs=list(inputs), outputs=[output])

    return build


def test_equal_work_is_one_step_and_other_work_is_named_after_its_row():
    book = StepGraph(RUN)
    assert book.add("embed-de", "first", maker(), plain=True) == "embed-de"
    assert book.add("embed-de", "second", maker(), plain=True) == "embed-de"
    assert book.add("embed-de", "third", maker(option="2"), plain=True) == "embed-de-third"
    assert book.add("train-de", "first", maker()) == "train-de-first"
    assert book.add("train-de", "", maker(option="3")) == "train-de"
    assert list(book.steps) == ["embed-de", "embed-de-third", "train-de-first", "train-de"]
    assert book["embed-de-third"].outputs == [RUN / "embed-de-third.txt"]


def test_a_row_has_one_step_of_a_name():
    book = StepGraph(RUN)
    book.add("data-de", "row", maker())
    with pytest.raises(ValueError, match="two steps are called 'data-de-row'"):
        book.add("data-de", "row", maker(option="2"))
    assert list(book.steps) == ["data-de-row"]


def test_work_of_another_kind_is_never_the_same():
    book = StepGraph(RUN)
    assert book.add("forward", "a", maker()) == "forward-a"
    assert book.add("backward", "a", maker()) == "backward-a"


def test_a_difference_far_up_makes_everything_below_it_another_step():
    book = StepGraph(RUN)
    for row, option in (("a", "1"), ("b", "2"), ("c", "1")):
        first = RUN / f"{book.add('first', row, maker(option=option))}.txt"
        book.add("second", row, maker(first))
    assert list(book.steps) == ["first-a", "second-a", "first-b", "second-b"]


def test_only_what_results_are_built_on_is_needed():
    book = StepGraph(RUN)
    for name in ("a", "b"):
        first = RUN / f"{book.add('first', name, maker(option=name))}.txt"
        book.add("second", name, maker(first))
    chosen = book.needed([RUN / "second-b.txt"])
    assert [step.name for step in chosen] == ["first-b", "second-b"]
    assert book.needed([]) == []


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A folder with a source and with the files of parsing and tagging, in English and German."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.pt").touch()
    (tmp_path / "text/gold").mkdir(parents=True)
    for task in (TASKS["parsing"], TASKS["pos"]):
        for split in ("train", "valid", "test"):
            for lang in ("en", "de"):
                task.file(tmp_path / "text", split, lang).touch()
    return tmp_path


OWN = {
    "task_head": "parsing",
    "task_train": ("de=text/gold/train.de.conllu",),
    "task_valid": ("de=text/gold/valid.de.conllu",),
    "task_test": ("de=text/gold/test.de.conllu",),
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": "tags"}, "unknown `--tasks` 'tags'"),
        ({"tasks": "ner"}, "text/gold/tags.train.fr.tsv: no such file; the task NER F1 needs it"),
        (
            {"tasks": "pos", "text": "", "data": "folder"},
            "`--tasks` pos needs `--text`, whose gold/ has the files",
        ),
        (OWN, "`--task-train` must name a file of 'fr', as in fr=FILE"),
        ({"task_args": "'"}, "`--task-args`: No closing quotation"),
    ],
)
def test_files_are_missed_before_anything_runs(world, config, changes, message):
    with pytest.raises(UserError) as error:
        check_config(config(languages="en,de,fr", **changes))
    assert str(error.value).startswith(message)


def test_the_source_language_needs_no_files(world, config):
    TASKS["parsing"].file(world / "text", "train", "en").unlink()
    check_config(config(tasks="parsing", languages="en,de"))
    check_config(config(languages="en,de", **OWN))


def test_parsing_has_two_figures_and_the_others_the_one_of_their_head(world, config, facts):
    chosen = config(tasks="pos,parsing", **OWN)
    outcome = Artifacts("de", 3, "", world / "data", checkpoints={"init": world / "m.pt"})
    add_tasks(MigrationPlan(StepGraph(world / "run"), chosen, facts(), outcome))
    assert outcome.tasks == {
        name: world / f"run/tasks/task-{name}-de-3" for name in ("pos", "parsing", "own")
    }
    scores = {
        "pos": ("accuracy", [{"accuracy": 90.0}]),
        "parsing": ("las", [{"las": 60.0, "uas": 70.0}, {"las": 62.0, "uas": 74.0}]),
        "own": ("las", [{"las": 50.0, "uas": 55.0}]),
    }
    for name, (metric, runs) in scores.items():
        tests = [{"scores": {"de": one}} for one in runs]
        record = transfer_record({"tests": tests}, metric=metric)
        outcome.tasks[name].mkdir(parents=True)
        write_json(outcome.tasks[name] / "results.json", record)
    assert task_figures(chosen, outcome) == {
        **{"POS": 90.0, "UAS": 72.0, "LAS": 61.0, "parsing uas": 55.0, "parsing las": 50.0}
    }
