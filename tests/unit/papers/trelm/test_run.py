"""The plans of the studies."""

import argparse
import dataclasses
from pathlib import Path

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm import run
from fairseq_xling.papers.trelm.inputs import read_config
from fairseq_xling.papers.trelm.run import choose_rows, row_config, study_steps
from fairseq_xling.papers.trelm.study import Variation
from fairseq_xling.papers.trelm.transfers import budget
from fairseq_xling.studies.ablations import STUDIES
from fairseq_xling.studies.gold_tasks import TASKS
from fairseq_xling.workflow.call import arguments
from tests.planned_steps import value

NAMES = [name for name in STUDIES if name.startswith("trelm-")]
SHAPE = EncoderShape(4, 16, 32, 2, 64)
MANY = ("--multilingual", "many.pt", "--multilingual-data", "many")
USUAL = {"trelm-parallel": ("--sizes", "50,100"), "trelm-transfers": MANY}


@pytest.fixture
def study(monkeypatch, tmp_path, config, facts):
    """``study("trelm-init", codes, seeds="1,2")``: its rows, and the steps of the chosen ones."""
    monkeypatch.chdir(tmp_path)
    for name in ("source.pt", "many.pt"):
        (tmp_path / name).touch()

    def known(chosen, target, shape):
        separate = chosen.vocab == "separate"
        return facts(dictionaries=(("en",), (target,)) if separate else (("en", target),))

    monkeypatch.setattr(run, "summarize_inputs", known)
    monkeypatch.setattr(run, "read_shape", lambda chosen: SHAPE)

    def make(name, codes=None, options=None, **changes):
        one, parser = STUDIES[name](), argparse.ArgumentParser()
        one.add_arguments(parser)
        given = USUAL.get(name, ()) if options is None else options
        args = parser.parse_args(["--output", "run", *given])
        chosen = config(**changes)
        rows = one.rows(chosen, args)
        picked = choose_rows(rows, codes, ready_data=False)
        return rows, study_steps(one, tmp_path / "run", chosen, rows, picked, SHAPE)

    return make


def names(steps):
    return [step.name for step in steps]


@pytest.mark.parametrize("name", NAMES)
def test_a_row_alone_takes_steps_of_the_same_names(study, name):
    rows, steps = study(name)
    for row in rows:
        _, alone = study(name, row.code)
        assert set(names(alone)) <= set(names(steps))


@pytest.fixture
def rows_of(tmp_path, monkeypatch):
    """``rows_of("trelm-init", "--seeds", "1")``: the settings of a study, and its rows."""
    for name in ("source.pt", "teacher.pt", "text"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)

    def make(name, *options):
        one, parser = STUDIES[name](), argparse.ArgumentParser()
        one.add_arguments(parser)
        given = "--output run --source source.pt --mono train.en=text --mono train.de=text".split()
        given += ["--parallel", "train.en-de=text,text", *USUAL.get(name, ()), *options]
        args = parser.parse_args(given)
        settings = read_config(args, one.translates, one.settings)
        return settings, one.rows(settings, args)

    return make


def test_a_teacher_that_is_given_needs_no_number_of_steps(rows_of):
    options = ("--teacher", "teacher.pt", "--teacher-original", "yes", "--transfer-steps", "700")
    settings, rows = rows_of("trelm-translators", *options)
    found = {row.code: row_config(settings, row) for row in rows}
    assert {row.translator_steps for row in found.values()} == {700}
    original = {code for code, row in found.items() if row.teacher_original}
    taught = {code: row.teacher for code, row in found.items() if row.teacher}
    codes = ("ctc-teacher", "ctc-all", "ctc-both", "lattice-teacher", "lattice-all")
    assert original == {"ctc-both"} and taught == dict.fromkeys(codes, "teacher.pt")


@pytest.mark.parametrize("name", ["baselines", "compensated", "objectives", "transfers"])
def test_no_row_trains_a_head_that_others_lack_unless_asked(rows_of, name):
    for options, expected in (((), ""), (("--auxiliary", "order"), "order")):
        settings, rows = rows_of(f"trelm-{name}", *options)
        assert {{**vars(settings), **row.changes}["auxiliary"] for row in rows} == {expected}
        assert settings.ordering_list == ["identity", "oracle"]


def test_compensation_equals_the_budget_of_the_whole_migration(study, config):
    rows, steps = study("trelm-compensated")
    chosen = config()
    budgets = {row.code: budget(row_config(chosen, row)) for row in rows}
    assert budgets["same-steps"] == budgets["full"]
    assert budgets["without"] == budgets["full"] - 2 * chosen.transfer_steps
    # SPEC D3, T21: the paper's 20K + 80K + 80K, and 140K of the migration as it is run.
    assert budgets["paper"] == round(budgets["full"] * 180 / 140)
    papers = config(commonality_steps=20_000, transfer_steps=20_000, language_steps=80_000)
    changes = {row.code: row.changes for row in STUDIES["trelm-compensated"]().rows(papers, None)}
    assert changes["paper"]["language_steps"] == 160_000
    by_name = {step.name: step for step in steps}
    for code in ("same-steps", "paper"):
        assert by_name[f"language-de-1-{code}"].commands[0][1].endswith("data/extra-de")
    assert by_name["language-de-1-without"].commands[0][1].endswith("data/prepare-de")


def test_subsets_share_all_that_does_not_depend_on_them(study):
    rows, steps = study("trelm-parallel")
    assert [row.changes["parallel_limit"] for row in rows] == [100, 50]
    shared = [name for name in names(steps) if name.startswith("commonality")]
    assert shared == ["commonality-de-1-pairs-100"]
    subsets = [step for step in steps if step.name.startswith("subset")]
    given = [arguments(step.commands[0][4:]) for step in subsets]
    assert [(one["count"], one["seed"]) for one in given] == [(100, 1), (50, 1)]


@pytest.mark.parametrize(("options", "small"), [((), 320), (("--small-steps", "0.5"), 80)])
def test_multilingual_encoders_take_the_migrations_steps_and_others_more(
    study, config, options, small
):
    lengths = {"commonality_steps": 30, "transfer_steps": 40, "language_steps": 50}
    _, steps = study("trelm-baselines", options=options, **lengths)
    own = {"small-bert": small, "large-bert": 8 * 160}
    for code in ("small-bert", "mlm", "mlm-tlm", "large-bert"):
        (step,) = (s for s in steps if s.name == f"scratch-de-1-{code}")
        assert value(step, "--max-update") == str(own.get(code, 160))
        assert value(step, "--mono-languages") == ("de" if code in own else "en,de")


@pytest.mark.parametrize(("language", "of_target"), [(3, 3), (2, 3), (5, 5), (0, None)])
def test_limits_of_text_hold_for_all_but_the_large_encoder(study, language, of_target):
    limits = {"commonality_limit": 3, "parallel_limit": 2, "language_limit": language}
    _, steps = study("trelm-baselines", options=(), **limits)
    by_name = {step.name: step for step in steps}
    whole = next(name for name in by_name if name.startswith("prepare-de"))
    for code in ("small-bert", "mlm", "mlm-tlm", "large-bert"):
        read, found = Path(by_name[f"scratch-de-1-{code}"].commands[0][1]).name, []
        while read != whole:
            values = arguments(by_name[read].commands[0][4:])
            found.append((values.get("languages", values.get("pair")), values["count"]))
            read = Path(values["data"]).name
        limited = [(["de"], of_target), (["en"], 3), (["en", "de"], 2)]
        expected = [] if code == "large-bert" else [one for one in limited if one[1]]
        assert found == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_trained_and_tested_in_the_target_on_the_last_checkpoint_of_its_row(
    study, monkeypatch, tmp_path, name
):
    for folder in ("gold", "mono"):
        (tmp_path / "text" / folder).mkdir(parents=True)
    for split in ("train", "valid", "test"):
        TASKS["parsing"].file(tmp_path / "text", split, "de").touch()
    for lang in ("en", "de"):
        (tmp_path / f"text/mono/train.{lang}.txt").touch()
    rows, _ = study(name)
    for row in rows:
        _, steps = study(name, row.code, tasks="parsing")
        (task,) = [step for step in steps if step.name.startswith("task-")]
        bpw = next(step for step in steps if step.name.startswith("bpw-"))
        (command,) = task.commands
        words = bpw.commands[0]
        assert value(task, "--encoder") == f"model={words[words.index('--data') - 1]}"
        assert value(task, "--data") == f"model={value(bpw, '--data')}"
        read = [step.name for step in steps if task.reads(step)]
        assert read[0].startswith("prepare-de")
        mapped = {"mim": ["fit-"], "rosita-word": ["map-", "fit-"]}.get(row.code, [])
        kinds = sorted(f"{name.partition('-')[0]}-" for name in read[2:])
        assert kinds == sorted(mapped)
        files = {split: command[command.index(f"--{split}") + 1] for split in ("train", "test")}
        assert files == {split: f"de=text/gold/{split}.de.conllu" for split in files}
        assert not any("en=" in word for word in command)
        assert steps[-1].reads(task)


def test_rows_are_chosen_by_code():
    rows = [Variation("a", "one"), Variation("b", "two", needs_text=True)]
    assert choose_rows(rows, None, ready_data=False) == rows
    assert choose_rows(rows, None, ready_data=True) == rows[:1]
    assert choose_rows(rows, "b", ready_data=False) == rows[1:]
    with pytest.raises(UserError, match="`--rows`: unknown row 'c'; known: a, b"):
        choose_rows(rows, "c", ready_data=False)
    with pytest.raises(UserError, match="`--rows` b needs its own vocabulary: give `--text`"):
        choose_rows(rows, "b", ready_data=True)


def test_only_the_whole_has_a_translation_model_beside_it(study):
    _, steps = study("trelm-parts", autoregressive=True)
    found = [name for name in names(steps) if name.startswith("autoregressive-de-1")]
    assert found == ["autoregressive-de-1-full"]


def test_a_row_whose_settings_do_not_go_together_is_named(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.pt").touch()
    with pytest.raises(UserError, match=r"^row bad: `--transfer-objectives` cdlm needs a TRILayer"):
        row_config(config(), Variation("bad", "", {"trilayer": False}))
    kept = row_config(config(), Variation("good", "", {"language_steps": 7}))
    assert kept == dataclasses.replace(config(), language_steps=7)


def test_the_larger_budget_is_the_papers_400k_by_120k(study, config):
    lengths = {"commonality_steps": 30, "transfer_steps": 60, "language_steps": 90}
    rows, _ = study("trelm-transfers", **lengths)
    budgets = {row.code: budget(row_config(config(), row)) for row in rows[5:]}
    assert budgets["tri-bert"] == budgets["tri-mbert"]
    assert budgets["tri-bert-long"] == 800  # 100 + 2 * 200 + 300


def test_given_word_vectors_are_of_both_languages(study):
    both = ("--word-vectors", "en=a.vec", "--word-vectors", "de=b.vec")
    _, steps = study("trelm-transfers", options=(*MANY, *both))
    assert not [step.name for step in steps if "words" in step.name]
    with pytest.raises(UserError, match="`--word-vectors` must have a file of 'de', as in de=FILE"):
        study("trelm-transfers", options=(*MANY, *both[:2]))
    with pytest.raises(UserError, match=r"^`--data`: this study has two vocabularies; give `--t"):
        study("trelm-transfers", text="", data="data")
