import random
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.workflow.step import Plan, Stamp, Step, seconds_taken
from tests.planned_steps import digests


def copy(name, source, target):
    return Step(name, [["cp", str(source), str(target)]], inputs=[source], outputs=[target])


def test_a_changed_input_changes_its_step_and_all_that_build_on_it(tmp_path):
    text = tmp_path / "text"
    text.write_text("a")
    steps = [
        copy("one", text, tmp_path / "run" / "one"),
        copy("two", tmp_path / "run" / "one", tmp_path / "run" / "two"),
        Step("other", commands=[["true"]]),
    ]
    before = digests(steps)
    text.write_text("b")
    after = digests(steps)
    assert before["one"] != after["one"]
    assert before["two"] != after["two"]
    assert before["other"] == after["other"]


def test_the_same_file_in_another_folder_leaves_a_step_done_and_another_name_does_not(tmp_path):
    def digest(folder, name="text", content="a", seed=1, program="train"):
        source = tmp_path / folder / name
        source.parent.mkdir(exist_ok=True)
        source.write_text(content)
        command = [program, f"--source={source}", f"en={source},de={source}.gz", f"{source}"]
        settings = {"seed": seed, "source": str(source)}
        return digests([Step("a", commands=[command], settings=settings, inputs=[source])])["a"]

    first = digest("here")
    assert digest("elsewhere") == first
    changes = ({"name": "other"}, {"content": "b"}, {"seed": 2}, {"program": "test"})
    assert len({first, *(digest("elsewhere", **change) for change in changes)}) == 5


def test_a_step_stays_done_where_the_package_is_installed_in_another_folder(monkeypatch):
    def digest(user_dir):
        monkeypatch.setattr("fairseq_xling.workflow.step.USER_DIR", user_dir)
        return digests([Step("a", commands=[["fairseq-train", "--user-dir", str(user_dir)]])])

    assert digest(Path("/one/user_dir")) == digest(Path("/other/folder"))


def test_a_step_depends_on_the_code_of_a_users_folders_wherever_they_are(tmp_path, monkeypatch):
    def digest(place, code):
        folder = tmp_path / place / "mine"
        (folder / ".venv").mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(code)
        (folder / ".venv" / "other.py").write_text(place)
        monkeypatch.setenv("FAIRSEQ_XLING_USER_DIR", str(folder))
        commands = [["fairseq-xling", "--user-dir", str(folder), "demo"]]
        return digests([Step("a", commands=commands)])["a"]

    assert digest("here", "a = 1") == digest("there", "a = 1") != digest("there", "a = 2")


def test_which_of_two_files_stands_where_counts(tmp_path):
    one, other = tmp_path / "one" / "x", tmp_path / "other" / "x"
    for path in (one, other):
        path.parent.mkdir()
        path.write_text(path.parent.name)
    steps = [
        Step(f"{n}", commands=[["join", str(a), str(b)]], inputs=[one, other])
        for n, (a, b) in enumerate([(one, other), (other, one)])
    ]
    assert len(set(digests(steps).values())) == 2


def test_a_file_inside_an_output_belongs_to_the_step_that_made_it(tmp_path):
    folder = tmp_path / "data"
    maker = Step("make", commands=[["true"]], outputs=[folder])
    reader = Step("read", commands=[["true"]], inputs=[folder / "meta.json"])
    assert reader.reads(maker)
    assert not maker.reads(reader)
    digests([maker, reader])  # the file need not exist yet


def test_the_steps_before_a_step_are_those_that_it_reads():
    rng = random.Random(1)

    def some(most):
        return [Path(*rng.choices("ab", k=rng.randint(1, 4))) for _ in range(rng.randint(0, most))]

    steps = []
    for number in range(60):
        paths = {"inputs": some(2), "unread": some(1), "outputs": some(2)}
        steps.append(Step(str(number), commands=[["true"]], **paths))
    expected = {
        step.name: [other for other in steps[:number] if step.reads(other)]
        for number, step in enumerate(steps)
    }
    assert Plan(steps).before == expected
    assert len({len(before) for before in expected.values()}) > 5


def test_what_must_not_be_read_is_known_by_its_name_size_and_time(tmp_path, monkeypatch):
    path = tmp_path / "test.tsv"
    path.write_text("a")
    step = Step("a", commands=[["true"]], unread=[path])
    monkeypatch.setattr("fairseq_xling.workflow.step.sha256", lambda path: pytest.fail(str(path)))
    before = digests([step])
    assert digests([step]) == before
    path.write_text("ab")
    assert digests([step]) != before
    maker = Step("make", commands=[["true"]], outputs=[tmp_path])
    assert step.reads(maker)
    path.unlink()
    digests([maker, step])  # the file need not exist yet
    with pytest.raises(UserError, match=r"test.tsv: no such file"):
        digests([step])


def test_steps_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"nowhere: no such file or folder"):
        digests([Step("a", commands=[["true"]], inputs=[tmp_path / "nowhere"])])
    with pytest.raises(ValueError, match="two steps are called 'a'"):
        digests([Step("a", commands=[["true"]]), Step("a", commands=[["false"]])])
    with pytest.raises(ValueError, match="either commands or a function"):
        Step("a")


def test_states_follow_the_life_of_a_step(tmp_path):
    output = tmp_path / "out" / "file"
    step = Step("a", commands=[["true"]], outputs=[tmp_path / "out"])
    stamp = Stamp(tmp_path, step, "digest")
    assert stamp.state() == "new"
    with pytest.raises(UserError, match="'a' ended without making"):
        stamp.finish()
    stamp.begin()
    assert stamp.state() == "new"  # not resumable: an interrupted run starts again
    output.parent.mkdir()
    output.write_text("result")
    stamp.finish()
    assert stamp.state() == "done"
    assert Stamp(tmp_path, step, "another").state() == "new"
    output.write_text("damaged since")
    assert stamp.state() == "new"
    stamp.begin()
    assert not output.exists()  # what is left of an earlier run is gone


def test_a_resumable_step_keeps_what_it_has(tmp_path):
    step = Step("a", commands=[["true"]], outputs=[tmp_path / "out"], resumable=True)
    stamp = Stamp(tmp_path, step, "digest")
    stamp.begin()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "half").write_text("x")
    assert stamp.state() == "interrupted"
    stamp.begin()
    assert (tmp_path / "out" / "half").exists()
    Stamp(tmp_path, step, "changed").begin()
    assert not (tmp_path / "out").exists()


def test_nothing_outside_the_run_is_ever_removed(tmp_path):
    outside = tmp_path / "precious"
    outside.write_text("x")
    run = tmp_path / "run"
    run.mkdir()
    step = Step("a", commands=[["true"]], outputs=[outside])
    with pytest.raises(ValueError, match="outside the run"):
        Stamp(run, step, "digest").begin()
    assert outside.exists()


def test_outputs_may_lie_in_linked_folders(tmp_path):
    run, disk = tmp_path / "run", tmp_path / "disk"
    run.mkdir()
    (disk / "a").mkdir(parents=True)
    (disk / "a" / "old").write_text("x")
    (run / "models").symlink_to(disk)
    stamp = Stamp(run, Step("a", commands=[["true"]], outputs=[run / "models" / "a"]), "digest")
    stamp.begin()
    assert not (disk / "a").exists()
    (run / "models" / "a").mkdir()
    stamp.finish()
    assert stamp.state() == "done"


def test_an_output_that_is_a_link_loses_nothing_it_leads_to(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (run / "report.html").symlink_to(tmp_path / "precious" / "file")
    (run / "data").symlink_to(tmp_path / "precious")
    Stamp(run, Step("a", [["true"]], outputs=[run / "report.html"]), "digest").begin()
    assert not (run / "report.html").is_symlink()
    stamp = Stamp(run, Step("b", [["true"]], outputs=[run / "data"]), "digest")
    with pytest.raises(UserError, match="data: is a link to a folder that contains something"):
        stamp.begin()
    assert (tmp_path / "precious" / "file").read_text() == "x"
    (tmp_path / "precious" / "file").unlink()
    stamp.begin()  # an empty one is where the user wants it
    assert (run / "data").is_symlink()


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "7", "null", "{"),
        '{"digest": "digest", "state": "running", "begun": [], "seconds": "x"}',
        '{"digest": "digest", "begun": -1, "seconds": 1e999, "message": 7}',
    ],
)
def test_a_damaged_stamp_is_one_that_says_nothing(tmp_path, text):
    step = Step("a", commands=[["true"]], resumable=True)
    stamp = Stamp(tmp_path, step, "digest")
    stamp.path.parent.mkdir()
    stamp.path.write_text(text)
    stamp.state()
    assert (stamp.begun(), stamp.seconds(), stamp.failure()) == (0, 0, "")
    stamp.begin()
    stamp.finish()
    assert stamp.state() == "done"


def test_time_before_a_kill_counts_for_a_resumable_step(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("fairseq_xling.workflow.step.time.monotonic", lambda: now[0])
    for resumable, expected in ((True, 7.0), (False, 4.0)):
        step = Step("a", commands=[["true"]], resumable=resumable)
        killed = Stamp(tmp_path, step, f"digest {resumable}")
        killed.begin()
        now[0] += 3
        killed.tick()
        stamp = Stamp(tmp_path, step, f"digest {resumable}")
        stamp.begin()
        assert stamp.seconds() == expected - 4
        now[0] += 4
        stamp.finish()
        assert stamp.seconds() == expected
        stamp.tick()  # a late one changes nothing
        assert stamp.state() == "done"


def test_the_time_of_a_run_is_that_of_its_steps_and_of_none_that_has_not_begun(
    tmp_path, monkeypatch
):
    now = [100.0]
    monkeypatch.setattr("fairseq_xling.workflow.step.time.monotonic", lambda: now[0])
    steps = [Step(name, commands=[["true"]]) for name in ("a", "b", "c")]
    for step, seconds, ends in zip(steps, (0.1, 0.7), (True, False), strict=False):
        stamp = Stamp(tmp_path, step, "digest")
        stamp.begin()
        now[0] += seconds
        stamp.finish() if ends else stamp.tick()
    assert seconds_taken(tmp_path, steps) == 0.8  # not 0.7999999999999999
    assert seconds_taken(tmp_path, steps[2:]) == 0.0


@pytest.mark.parametrize(
    "command",
    [
        ["fairseq-train", "text", "--seed", "1"],
        ["fairseq-train", "data", "--restore-file", "text"],
        ["fairseq-xling", "eval", "bli", "a", "b", "--dictionary", "text", "--output", "o"],
        ["python", "-m", "fairseq_xling.workflow.call", "m:f", "path=./text", "seed=1"],
    ],
)
def test_a_file_without_a_folder_in_a_command_is_an_input(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("a")
    Path("1").write_text("no file of a command's")
    plan = Plan([Step("a", [command])])
    assert Path("text") in plan.outside["a"] and Path("1") not in plan.outside["a"]
