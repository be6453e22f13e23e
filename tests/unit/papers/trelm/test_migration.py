"""The steps of a migration and of its translator."""

import dataclasses
import itertools
from pathlib import Path

import pytest
import torch

from fairseq_xling.checkpoints.files import load_plain
from fairseq_xling.cli import main
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.interop.sources import read_source
from fairseq_xling.papers.trelm.config import PRESETS
from fairseq_xling.papers.trelm.initialise import InitOptions
from fairseq_xling.papers.trelm.inputs import check_config
from fairseq_xling.papers.trelm.migration import Migration
from fairseq_xling.papers.trelm.start import ModelOptions, make_start
from fairseq_xling.studies.gold_tasks import TASKS
from fairseq_xling.text.encoder import TextEncoder
from fairseq_xling.workflow.call import arguments
from fairseq_xling.workflow.recipe import Run
from tests.planned_steps import value
from tests.tiny_sources import tiny_source
from tests.transfer_record import transfer_record

RUN = Path("run")


@pytest.fixture
def plan(config, facts):
    """``plan(nsp=True)``: the steps of a migration by name, and where it leaves what."""

    def make(target="de", seed=1, known=None, **changes):
        chosen = config(**changes)
        one = Migration(Run(RUN, chosen), chosen, known or facts(), target, seed)
        one.data = one.prepare(f"prepare-{target}")
        one.migrate()
        return one.run.steps, one

    return make


def flag(step, option):
    return option in step.commands[0]


def test_the_steps_of_the_papers_preset(plan):
    steps, _ = plan(**PRESETS["trelm"])
    assert value(steps["prepare-de"], "--alphabet") == "30000"
    assert value(steps["embed-de"], "--languages") == "en,de"
    # The whole vocabulary has mapped vectors, and no embedding of equal spelling.
    assert value(steps["map-de"], "--vectors") == "run/vectors/embed-de.safetensors"
    assert value(steps["init-de-1"], "--vectors") == "run/vectors/map-de.safetensors"
    assert not flag(steps["init-de-1"], "--copy-shared")
    # Each phase reads its own share of the text, and has no head besides the language model's.
    limits = {
        "commonality-text-de": {"languages": ["en", "de"], "count": 1_000_000},
        "subset-de": {"pair": ["en", "de"], "count": 1_000_000},
        "language-text-de": {"languages": ["de"], "count": 2_000_000},
    }
    for name, expected in limits.items():
        assert expected.items() <= arguments(steps[name].commands[0][4:]).items()
    folders = ("commonality-text-de", "subset-de", "subset-de", "language-text-de")
    phases = ("commonality", "forward", "backward", "language")
    for phase, folder in zip(phases, folders, strict=True):
        step = steps[f"{phase}-de-1"]
        assert step.commands[0][1] == f"run/data/{folder}"
        assert not flag(step, "--auxiliary")
    translations = [name for name in steps if name.startswith("translate")]
    assert translations == ["translate-identity-de-1", "translate-oracle-de-1"]


DATA = "fairseq-train"  # which its folder follows


@pytest.mark.parametrize(
    ("changes", "step", "options"),
    [
        ({"language_limit": 5, "extra_mono": True}, "language-de-1", {DATA: "run/data/extra-de"}),
        ({"copy_shared": False}, "init-de-1", {"--copy-shared": False}),
        ({"vectors": "words.vec"}, "embed-de", {"--vec": "words.vec", "--dim": False}),
        ({"device": "cpu", "precision": "bf16"}, "forward-de-1", {"--cpu-bf16": True}),
        # Fewer pairs change only the transfer, and extra text only the last phase.
        ({"parallel_limit": 50}, "commonality-de-1", {DATA: "run/data/prepare-de"}),
        ({"parallel_limit": 50}, "forward-de-1", {DATA: "run/data/subset-de"}),
        ({"parallel_limit": 50}, "backward-de-1", {DATA: "run/data/subset-de"}),
        ({"parallel_limit": 50, "extra_mono": True}, "language-de-1", {DATA: "run/data/extra-de"}),
    ],
)
def test_settings_become_options_of_a_step(plan, changes, step, options):
    made = plan(**changes)[0][step]
    for option, expected in options.items():
        found = flag(made, option) if isinstance(expected, bool) else value(made, option)
        assert found == expected, option


def test_a_phase_has_its_own_options_last_and_limited_text(plan):
    steps, _ = plan(transfer_args="--seed 9", language_limit=5, extra_mono=True)
    assert steps["forward-de-1"].commands[0][-2:] == ["--seed", "9"]
    assert steps["extra-de"].reads(steps["language-text-de"])


@pytest.mark.parametrize(
    ("embeddings", "mapping", "expected"),
    [
        ("random", "none", []),
        ("skip-gram", "none", ["embed-de"]),
        ("random", "adversarial", ["source-vectors", "embed-de", "map-de"]),
        ("fasttext", "none", ["embed-de"]),
        ("skip-gram", "identical", ["source-vectors", "embed-de", "map-de"]),
    ],
)
def test_vectors_are_made_where_they_are_asked_for(plan, embeddings, mapping, expected):
    steps, _ = plan(embeddings=embeddings, mapping=mapping)
    found = list(steps)
    assert found[1 : found.index("init-de-1")] == expected
    (command,) = steps["init-de-1"].commands
    last = f"run/vectors/{expected[-1]}.safetensors" if expected else None
    given = [b for a, b in itertools.pairwise(command) if a == "--vectors"]
    assert given == ([last] if last else [])
    if mapping == "adversarial":
        assert value(steps["map-de"], "--seeds") == "1,2,3,4,5"
    elif mapping == "identical":
        assert not flag(steps["map-de"], "--seeds")


def test_a_kept_vocabulary_needs_no_vectors_and_no_map(plan):
    before, _ = plan()
    steps, outcome = plan(keep_vocabulary=True, source_data="first")
    assert before.keys() - steps.keys() == {"source-vectors", "embed-de", "map-de"}
    assert not outcome.vectors and not steps.keys() - before.keys()
    (command,) = steps["prepare-de"].commands
    given = [b for a, b in itertools.pairwise(command) if a == "--tokenizer"]
    assert given == ["en=first", "de=first"]
    init = steps["init-de-1"]
    assert value(init, "--embeddings") == "source"
    assert not flag(init, "--vectors") and not flag(init, "--copy-shared")
    assert value(init, "--arch") == "tri_bert_base" and not flag(init, "--no-trilayer")
    for phase in ("commonality", "forward", "backward", "language"):
        assert steps[f"{phase}-de-1"].commands == before[f"{phase}-de-1"].commands


def test_a_kept_vocabulary_has_the_sources_ids_and_word_table_bit_for_bit(config, facts, tmp_path):
    text = tmp_path / "text"
    for name in ("mono/train.en", "mono/train.de", "new/train.en", "new/train.de"):
        path = text.joinpath(f"{name}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the cat of {name} sees a dog\n" * 3)
    first, source = tmp_path / "first", tmp_path / "source.pt"
    sizes = ["--languages", "en,de", "--vocab-size", "40"]
    assert main(["prepare", str(first), "--from", str(text), *sizes]) == 0
    plain = ModelOptions(arch="separable_transformer_tiny", trilayer=False)
    make_start(source, tiny_source(), first, plain, InitOptions())
    chosen = config(
        source=str(source), source_data=str(first), keep_vocabulary=True, arch="tri_bert_tiny",
        text="", mono=tuple(f"train.{lang}={text}/new/train.{lang}.txt" for lang in ("en", "de")),
    )  # fmt: skip
    inputs = dataclasses.replace(facts(), shape=read_source(source, first).shape)
    outcome = Migration(Run(tmp_path / "run", chosen), chosen, inputs, "de", 1)
    outcome.data = outcome.prepare("prepare-de")
    outcome.migrate()
    for name in ("prepare-de", "init-de-1"):
        (command,) = outcome.run.steps[name].commands
        assert main(command[1:]) == 0
    assert (outcome.data / "dict.txt").read_text().split()[::2] == [
        *(first / "dict.txt").read_text().split()[::2]
    ]
    theirs, ours = (TextEncoder.load(data, "de") for data in (first, outcome.data))
    lines = ["the dog sees", "a new cat"]
    for one, other in zip(theirs.encode(lines), ours.encode(lines), strict=True):
        assert one.tolist() == other.tolist()
    table = "encoder.tokens.shared.weight"
    states = [load_plain(path)["model"] for path in (source, outcome.checkpoints["init"])]
    assert torch.equal(states[0][table], states[1][table])
    assert "encoder.language_table.weight" in states[1]
    assert any(name.startswith("encoder.trilayer.") for name in states[1])


def test_vocabularies_of_their_own_have_vectors_of_their_own(plan, facts):
    known = facts(dictionaries=(("en",), ("de",)))
    steps, _ = plan(known=known, vocab="separate", separate="tokens,softmax")
    for lang in ("en", "de"):
        assert value(steps[f"embed-de-{lang}"], "--languages") == lang
    assert steps["init-de-1"].commands[0].count("--vectors") == 2
    assert value(steps["prepare-de"], "--vocab-size") == "4000"
    assert flag(steps["forward-de-1"], "--alternate")
    assert not flag(steps["forward-de-1"], "--mix-in-batch")


@pytest.mark.parametrize(
    ("there", "without"),
    [
        ({"parallel": {"train": (), "test": ()}}, {"forward"}),
        ({"mono": frozenset({("train", "en"), ("train", "de"), ("valid", "de")})}, {"commonality"}),
    ],
)
def test_without_validation_text_there_is_no_validation(plan, facts, there, without):
    steps, _ = plan(known=facts(**there))
    phases = ("commonality", "forward", "language")
    assert {x for x in phases if flag(steps[f"{x}-de-1"], "--disable-validation")} == without


def test_phases_without_steps_are_left_out(plan):
    steps, outcome = plan(transfer_steps=0)
    assert list(outcome.checkpoints) == ["init", "commonality", "language"]
    start = value(steps["language-de-1"], "--finetune-from-model")
    assert start == "run/models/commonality-de-1/checkpoint_last.pt"
    assert not outcome.translations
    steps, outcome = plan(commonality_steps=0, language_steps=0)
    assert list(outcome.checkpoints) == ["init", "forward", "backward", "combined"]
    assert value(steps["forward-de-1"], "--finetune-from-model") == "run/models/init-de-1.pt"


def test_without_cdlm_or_parallel_text_nothing_is_translated(plan, facts):
    assert not plan(known=facts(parallel={"train": ()}))[1].translations
    steps, outcome = plan(transfer_objectives="tlm,mlm", trilayer=False)
    assert not outcome.translations
    assert not flag(steps["forward-de-1"], "--auxiliary")
    for phase in ("commonality", "forward", "language"):
        assert flag(steps[f"{phase}-de-1"], "--no-trilayer")
    assert flag(steps["init-de-1"], "--no-trilayer")


def test_each_test_set_is_translated_and_the_first_keeps_its_names(plan, facts):
    known = facts(parallel=dict.fromkeys(("train", "test", "test1"), ()))
    steps, outcome = plan(translate_split="test,test1", orderings="identity,oracle", known=known)
    names = ["identity", "oracle", "identity, test1", "oracle, test1"]
    assert list(outcome.translations) == names
    file = RUN / "translations/translate-test1-oracle-de-1/generate-test1.txt"
    assert outcome.translations["oracle, test1"] == file
    assert value(steps["translate-test1-oracle-de-1"], "--gen-subset") == "test1"
    alone = plan(orderings="identity,oracle", known=known)[0]["translate-oracle-de-1"]
    assert steps["translate-oracle-de-1"].commands == alone.commands


def test_in_both_directions_the_backward_model_translates_the_target(plan):
    before, _ = plan(orderings="identity,oracle")
    steps, outcome = plan(orderings="identity,oracle", translate_both=True)
    backward = ["identity, backward", "oracle, backward"]
    assert list(outcome.translations) == ["identity", "oracle", *backward]
    assert outcome.backward == backward
    step = steps["translate-back-identity-de-1"]
    assert value(step, "--path") == "run/models/backward-de-1/checkpoint_last.pt"
    assert [value(step, x) for x in ("-s", "-t", "--ordering")] == ["de", "en", "identity"]
    added = {"translate-back-identity-de-1", "translate-back-oracle-de-1"}
    assert steps.keys() - before.keys() == added
    for name, step in before.items():
        assert (steps[name].commands, steps[name].inputs) == (step.commands, step.inputs)


def test_in_both_directions_models_without_cdlm_keep_the_order_of_the_sentence(plan):
    steps, outcome = plan(transfer_objectives="tlm,mlm", translate_both=True)
    assert list(outcome.translations) == ["identity", "identity, backward"]
    for name, phase in (("", "forward"), ("back-", "backward")):
        step = steps[f"translate-{name}identity-de-1"]
        assert value(step, "--path") == f"run/models/{phase}-de-1/checkpoint_last.pt"
    # Without a TRILayer there is no position at which a word of another language is predicted.
    for changes in ({"trilayer": False}, {"transfer_steps": 0}):
        changes = {"transfer_objectives": "tlm,mlm", "translate_both": True, **changes}
        assert not plan(**changes)[1].translations


def test_in_both_directions_there_is_an_ordinary_translator_for_each(planned):
    steps = planned(autoregressive=True, translate_both=True)
    for prefix, phase, pair in (("", "forward", ("en", "de")), ("back-", "backward", ("de", "en"))):
        data = steps[f"autoregressive-data-{prefix}de"]
        trained = steps[f"autoregressive-{prefix}de-1"]
        assert arguments(data.commands[0][4:])["pair"] == list(pair)
        assert trained.reads(data) and trained.reads(steps[f"{phase}-de-1"])
        assert (value(trained, "--source-lang"), value(trained, "--target-lang")) == pair
        written = steps[f"translate-{prefix}autoregressive-de-1"]
        assert written.reads(trained) and (value(written, "-s"), value(written, "-t")) == pair
    names = planned(autoregressive=True, translate_both=True, transfer_objectives="tlm,mlm")
    assert "translate-back-identity-de-1" in names
    assert not any("autoregressive" in name for name in names)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A folder with a source and with the files of parsing and tagging in German."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.pt").touch()
    (tmp_path / "text/gold").mkdir(parents=True)
    for task, split in itertools.product(("parsing", "pos"), ("train", "valid", "test")):
        TASKS[task].file(tmp_path / "text", split, "de").touch()
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
        ({"tasks": "pos", "text": "", "data": "folder"}, "`--tasks` pos needs `--text`, whose"),
        (OWN, "`--task-train` must name a file of 'fr', as in fr=FILE"),
        ({"task_args": "'"}, "`--task-args`: No closing quotation"),
    ],
)
def test_files_are_missed_before_anything_runs(world, config, changes, message):
    with pytest.raises(UserError) as error:
        check_config(config(languages="en,de,fr", **changes))
    assert str(error.value).startswith(message)


def test_the_source_language_needs_no_files(world, config):
    check_config(config(tasks="parsing", languages="en,de"))
    check_config(config(languages="en,de", **OWN))


def test_parsing_has_two_figures_and_the_others_the_one_of_their_head(world, config, facts):
    chosen = config(tasks="pos,parsing", **OWN)
    outcome = Migration(Run(world / "run", chosen), chosen, facts(), "de", 3, world / "data")
    outcome.checkpoints["init"] = world / "m.pt"
    outcome.add_tasks()
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
    assert outcome.task_figures() == {
        **{"POS": 90.0, "UAS": 72.0, "LAS": 61.0, "parsing uas": 55.0, "parsing las": 50.0}
    }
