import sys

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.studies.gold_tasks import TASKS, parse_tasks, transfer_step
from tests.planned_steps import digests


@pytest.fixture
def text(tmp_path):
    """The files of all tasks, and others in their folder."""
    for task in TASKS.values():
        for split in ("train", "valid", "test"):
            for lang in ("en", "de"):
                path = task.file(tmp_path / "text", split, lang)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{split} {lang}")
    (tmp_path / "best.pt").touch()
    return tmp_path / "text"


def make(text, task="pos"):
    encoders = {"ours": (text.parent / "best.pt", text.parent / "best.pt")}
    output = text.parent / "run" / task
    return transfer_step(task, TASKS[task], output, text, ["en", "de"], encoders, "1")


@pytest.mark.parametrize("task", TASKS)
def test_a_step_depends_on_its_own_files_and_tests_are_not_looked_into(text, task):
    opened, step = [], make(text, task)

    def listen(event, arguments):
        if event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(listen)  # cannot be removed again; it only adds to a list
    before = digests([step])
    read = {name for name in opened if name.startswith(str(text))}
    gold = TASKS[task]
    assert read == {str(gold.file(text, split, "en")) for split in ("train", "valid")}
    changed = {}
    for path in sorted((text / "gold").iterdir()):
        content = path.read_text()
        path.write_text(content + "!")
        changed[path] = digests([step]) != before
        path.write_text(content)
        before = digests([step])
    mine = [("train", "en"), ("valid", "en"), ("test", "en"), ("test", "de")]
    expected = {gold.file(text, split, lang) for split, lang in mine}
    assert {path for path, change in changed.items() if change} == expected


def test_an_unknown_task_is_answered_with_all():
    with pytest.raises(UserError, match="unknown `--tasks` 'tags'; known: nli, ner, pos, parsing"):
        parse_tasks("--tasks", "tags")
