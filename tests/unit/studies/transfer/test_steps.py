import dataclasses
import sys
from pathlib import Path

import pytest

from fairseq_xling.errors import UserError
from fairseq_xling.runs.step import digests
from fairseq_xling.studies.transfer.plan import encoders, matrix, zero_shot
from fairseq_xling.studies.transfer.steps import study_steps


def plan(config, sets=zero_shot):
    steps, rows = study_steps(Path("run"), config, encoders(config), sets(config))
    return {step.name: step for step in steps}, rows


def value(step, option):
    (command,) = step.commands
    assert command.count(option) == 1
    return command[command.index(option) + 1]


def test_every_setting_and_seed_is_trained_and_tested_together(config):
    steps, (row,) = plan(config(lrs="1e-3,1e-4", seeds="1,2", best=2))
    trained = [name for name in steps if name.startswith("train-")]
    assert len(trained) == 4
    assert list(steps)[-1] == "test-models-zero-shot"
    test = steps["test-models-zero-shot"]
    assert all(test.reads(steps[name]) for name in trained)
    assert row.result == Path("run/results/test-models-zero-shot.json")


def test_the_linear_schedule_ends_with_the_last_epoch(config):
    steps, _ = plan(config(batch_sizes="4", epochs=5, warmup=0.2))
    step = steps["train-models-zero-shot-lr5e-05-b4-1"]
    assert value(step, "--total-num-update") == "15"  # 10 items are 3 batches
    assert value(step, "--warmup-updates") == "3"
    steps, _ = plan(config(schedule="constant", warmup=0.0, head_lrs="1e-2"))
    (step,) = (step for name, step in steps.items() if name.startswith("train-"))
    assert value(step, "--lr-scheduler") == "fixed"
    assert value(step, "--head-lr") == "0.01"


def test_a_translated_test_needs_no_further_training(config):
    steps, rows = plan(config(translate_test=("de=en.test",)))
    assert sum(name.startswith("train-") for name in steps) == 1
    assert [row.trained.how for row in rows] == ["", "translate-test"]


def test_a_matrix_trains_once_for_each_language(config):
    chosen = config(train=("en=en.train", "de=de.test"), valid=("en=en.dev", "de=en.dev"))
    steps, rows = plan(chosen, matrix)
    assert sum(name.startswith("train-") for name in steps) == 2
    assert value(steps["train-models-train-de-lr5e-05-b16-1"], "--train-file") == "de=de.test"
    assert len(rows) == 2


def test_bad_rows_that_are_left_out_are_not_counted_as_items(config):
    chosen = config(epochs=1, batch_sizes="1")
    path = chosen.train[0].partition("=")[2]
    with open(path, "a", encoding="utf-8") as file:
        file.write("bad\n")
    (step, *_) = plan(dataclasses.replace(chosen, skip_bad=1))[0].values()
    assert value(step, "--total-num-update") == "10" and value(step, "--skip-bad") == "1"


def test_a_damaged_training_file_is_named_before_anything_runs(config):
    chosen = config()
    Path("en.train").write_text("a\tyes\nb\n")
    with pytest.raises(UserError, match=r"en.train:2: must have 2 columns"):
        plan(chosen)


def test_a_file_without_annotation_is_named_before_anything_runs(config, caplog):
    chosen = config()
    for name, option in (("en.train", "--train"), ("en.dev", "--valid")):
        before = Path(name).read_text()
        Path(name).write_text("a\nb\n")
        with pytest.raises(UserError, match=rf"`{option}` {name}: nothing in it is annotated"):
            plan(chosen)
        Path(name).write_text(before)
    rows = '{"text": "a", "label": "x"}\n{"text": "b", "label": "-"}\n{"text": "c"}\n'
    Path("en.train").write_text(rows)
    Path("en.dev").write_text(rows)
    plan(dataclasses.replace(chosen, format="json_lines"))
    assert [record.getMessage() for record in caplog.records] == [
        f"{name}: 2 of 3 items have no annotation to learn or count; the first is {name}:2"
        for name in ("en.train", "en.dev")
    ]


@pytest.mark.row("E1")
def test_planning_reads_no_file_to_test_on(config):
    opened = []

    def listen(event, arguments):
        if event == "open":
            opened.append(str(arguments[0]))

    chosen = config()
    sys.addaudithook(listen)  # cannot be removed again; it only adds to a list
    steps, _ = plan(chosen)
    digests(list(steps.values()))
    assert any(name.endswith("en.train") for name in opened)
    assert not any(name.endswith(".test") for name in opened)


@pytest.mark.row("E1")
def test_no_training_is_given_a_file_to_test_on(config):
    chosen = config(shift_layer=1, shift_dev=("de=de.test",), translate_test=("de=en.test",))
    steps, _ = plan(chosen)
    for step in steps.values():
        given = [str(word) for command in step.commands for word in command]
        given += map(str, step.inputs)
        assert not [word for word in given if ".test" in word]
    assert {str(path) for path in steps["test-models-zero-shot"].unread} == {"en.test", "de.test"}


def test_another_file_to_test_on_is_another_test(config):
    chosen = config()
    before = digests(list(plan(chosen)[0].values()))
    Path("de.test").write_text("other text\tno\n")
    after = digests(list(plan(chosen)[0].values()))
    assert {name for name in before if before[name] != after[name]} == {"test-models-zero-shot"}


def test_another_file_that_chooses_alpha_is_another_test(config):
    chosen = config(shift_layer=1, shift_dev=("de=en.dev",))
    before = digests(list(plan(chosen)[0].values()))
    Path("en.dev").touch()
    after = digests(list(plan(chosen)[0].values()))
    assert "test-models-zero-shot" in {name for name in before if before[name] != after[name]}


def test_a_format_and_a_figure_reach_the_training_and_so_do_changed_answers(config):
    Path("zh.json").write_text(
        '{"content": ["a #idiom1# b"], "candidates": ["x", "y"]}\n', encoding="utf-8"
    )
    answers = Path("zh_answer.json")
    answers.write_text('{"#idiom1#": 0}')
    files = dict.fromkeys(("train", "valid", "test"), ("en=zh.json",))
    chosen = config(head="multiple_choice", format="chid", metric="accuracy", **files)
    steps, _ = plan(chosen)
    (train,) = (step for name, step in steps.items() if name.startswith("train-"))
    assert value(train, "--format") == "chid"
    assert value(train, "--best-checkpoint-metric") == "accuracy"
    before = digests(list(steps.values()))
    answers.write_text('{"#idiom1#": 1}')
    after = digests(list(plan(chosen)[0].values()))
    assert all(before[name] != after[name] for name in before)
