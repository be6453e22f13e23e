"""fairseq's own options: their ranges, read where each of its programs reads them."""

import argparse
import re
import sys
from dataclasses import fields

import fairseq.options as options
import pytest
import torch
from fairseq.dataclass import configs
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.registry import REGISTRIES
from omegaconf import OmegaConf

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.checkpoints import building
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import devices
from fairseq_xling.engine.options import RANGES, check_engine_options, literal_list
from fairseq_xling.training.cdlm import CdlmTask

PARSERS = {
    "train": options.get_training_parser,
    "generate": options.get_generation_parser,
    "interactive": options.get_interactive_generation_parser,
    "validate": options.get_validation_parser,
}
TRAINING = (
    *("--task", "cdlm", "--arch", "tri_bert_tiny", "--criterion", "unified_lm"),
    *("--optimizer", "adam", "--lr-scheduler", "inverse_sqrt"),
)


def parse(program, *flags):
    common = TRAINING if program == "train" else ("--task", "cdlm")
    return options.parse_args_and_arch(PARSERS[program](), ["data", *common, *flags])


@pytest.fixture
def refusal(capsys):
    """``refusal("train", "--lr", "-1")``: the one line that the program ends with."""

    def refused(program, *flags):
        capsys.readouterr()
        with pytest.raises(SystemExit) as error:
            parse(program, *flags)
        said = str(error.value) if error.value.code != 2 else capsys.readouterr().err
        [line] = said.splitlines()
        return line.removeprefix("fairseq-xling: error: ")

    return refused


@pytest.mark.parametrize("program", PARSERS)
def test_what_fairseq_takes_by_default_is_in_range(program):
    parse(program)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--max-tokens", "0"), "`--max-tokens` must be at least 1, got 0"),
        (("--batch-size", "0"), "`--batch-size` must be at least 1, got 0"),
        (("--seed", "-1"), "`--seed` must lie in [0, 4294967295], got -1"),
        (("--num-workers", "-1"), "`--num-workers` must be at least 0, got -1"),
    ],
)
@pytest.mark.parametrize("program", PARSERS)
def test_a_range_holds_in_every_program(refusal, program, flags, line):
    assert refusal(program, *flags) == line


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--lr", "-1"), "`--lr` must be at least 0, got -1.0"),
        (("--lr", "0.1,nan"), "`--lr` must be numbers separated by commas, got '0.1,nan'"),
        (("--lr", "1e400"), "`--lr` must be finite, got inf"),
        (("--lr", ""), "`--lr` must be one number or more, got none"),
        (("--update-freq", "2,0"), "`--update-freq` must be at least 1, got 0"),
        (("--max-update", "-1"), "`--max-update` must be at least 0, got -1"),
        (("--warmup-updates", "-5"), "`--warmup-updates` must be at least 0, got -5"),
        (("--adam-betas", "hello"), "`--adam-betas` must be 2 numbers such as (0.9, 0.98), got"),
        (("--adam-betas", "exit(3)"), "`--adam-betas` must be 2 numbers such as (0.9, 0.98), got"),
        (("--adam-betas", "(0.9,)"), "`--adam-betas` must be 2 numbers, got '(0.9,)'"),
        (("--adam-betas", "(0.9, 1)"), "`--adam-betas` must lie in [0, 1), got 1"),
        (("--optimizer-overrides", "{"), "`--optimizer-overrides` must be a dictionary of options"),
        (
            ("--warmup-updates", "0", "--lr-scheduler", "inverse_sqrt"),
            "`--warmup-updates` must be at least 1 with `--lr-scheduler inverse_sqrt`, got 0",
        ),
        (("--num-shards", "2"), "`--num-shards` has no effect but in fairseq-generate"),
    ],
)
def test_options_of_training_are_held_to_their_ranges(refusal, flags, line):
    assert refusal("train", *flags).startswith(line)


@pytest.mark.parametrize("program", ["generate", "interactive", "validate"])
@pytest.mark.parametrize("text", ["{", "[]", "exit(3)", "'dropout'"])
def test_overrides_must_be_a_dictionary_and_are_never_evaluated(refusal, program, text):
    assert refusal(program, "--model-overrides", text).startswith(
        "`--model-overrides` must be a dictionary of options such as "
    )


def test_a_shard_is_one_of_the_shards(refusal):
    assert parse("generate", "--num-shards", "3", "--shard-id", "2").shard_id == 2
    assert refusal("generate", "--num-shards", "3", "--shard-id", "7") == (
        "`--shard-id` must lie in [0, 2], the `--num-shards` 3 counted from 0, got 7"
    )
    assert refusal("interactive", "--num-shards", "3").startswith("`--num-shards` has no effect")


@pytest.mark.parametrize("backend", ["fully_sharded", "slowmo"])
def test_processes_that_do_not_keep_parameters_apart_are_refused(refusal, backend):
    line = refusal("train", "--ddp-backend", backend)
    assert "`--ddp-backend` must be pytorch_ddp or legacy_ddp, which" in line
    assert line.endswith(f"got {backend}")
    parse("train", "--ddp-backend", "no_c10d")


def test_a_configuration_of_hydra_is_checked_when_the_task_is_set_up(tiny_corpus):
    cfg = convert_namespace_to_omegaconf(parse("train"))
    OmegaConf.set_struct(cfg, False)
    cfg.task.data = str(tiny_corpus.path)
    CdlmTask.setup_task(cfg.task)
    cfg.dataset.max_tokens = 0
    with pytest.raises(SystemExit, match="`--max-tokens` must be at least 1, got 0"):
        CdlmTask.setup_task(cfg.task)
    cfg.dataset.max_tokens, cfg.dataset.combine_valid_subsets = 1, True
    with pytest.raises(SystemExit, match="`--combine-valid-subsets` does not work"):
        CdlmTask.setup_task(cfg.task)
    with building("x.pt"):  # the model of a training that is over
        CdlmTask.setup_task(cfg.task)


def test_every_range_is_of_an_option_that_fairseq_has():
    parts = [getattr(configs, name) for name in dir(configs) if name.endswith("Config")]
    for registry in REGISTRIES.values():
        parts += registry["dataclass_registry"].values()
    known = {field.name for part in parts for field in fields(part)}
    for registry in ("optimizer", "lr_scheduler"):
        for kind in REGISTRIES[registry]["registry"].values():
            one = argparse.ArgumentParser(conflict_handler="resolve")
            kind.add_args(one)
            known |= {action.dest for action in one._actions}
    assert set(RANGES) <= known


def test_numbers_that_a_configuration_already_holds_are_checked_like_text():
    check_engine_options({"lr": [0.1], "adam_betas": [0.9, 0.98], "max_tokens": None})
    with pytest.raises(UserError, match="`--adam-betas` must lie in"):
        check_engine_options({"adam_betas": (0.9, 2)})


def test_an_unknown_option_is_one_line(refusal):
    assert refusal("train", "--no-such", "1").startswith("unrecognized arguments: --no-such 1; ")


@pytest.mark.parametrize("text", ["hello", "(", "{}", "1.5", "((" * 5000, "None"])
def test_a_list_of_numbers_is_one_or_a_line(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be numbers separated by commas"):
        literal_list(text, int)
    assert literal_list("1,2", int) == [1, 2] and literal_list([0.5]) == [0.5]
    assert literal_list(None) is None and literal_list("1e-3") == [0.001]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"cpu": True, "amp": True}, "`--amp` needs an accelerator; with `--cpu` take --cpu-bf16"),
        ({"tpu": True}, "`--tpu` needs the package torch_xla"),
    ],
)
def test_what_needs_another_machine_is_refused(values, rule):
    with pytest.raises(UserError, match=rule):
        check_engine_options(values)


def test_no_shell_reads_a_name_in_a_data_folder_that_is_named_on_the_command_line(tmp_path):
    line = [str(tmp_path), "--path", "x.pt", "--task"]
    options.parse_args_and_arch(PARSERS["generate"](), [*line, "translation"])
    (tmp_path / "x;touch marker;.fasta").touch()
    with pytest.raises(SystemExit, match=r"marker;\.fasta: must not be of proteins"):
        options.parse_args_and_arch(PARSERS["generate"](), [*line, "translation"])
    options.parse_args_and_arch(PARSERS["generate"](), [*line, "cdlm"])


@pytest.mark.parametrize("task", ["cdlm", "clcr", "cross_lingual_transfer", "masked_lm"])
@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("--combine-valid-subsets", "does not work: .* name the splits there, as in valid,test"),
        ("--write-checkpoints-asynchronously", "needs the package iopath, .* leave it out, or run"),
    ],
)
def test_what_would_end_in_a_traceback_or_train_nothing_is_refused(
    refusal, monkeypatch, task, option, rule
):
    monkeypatch.setitem(sys.modules, "iopath", None)
    assert re.search(f"^`{option}` {rule}", refusal("train", "--task", task, option))


def test_options_of_a_checkpoint_had_their_effect_where_it_was_trained():
    values = {"combine_valid_subsets": True, "write_checkpoints_asynchronously": True}
    check_engine_options(values, trained=True)
    with pytest.raises(UserError, match="`--combine-valid-subsets` does not work"):
        check_engine_options(values)


def test_the_program_for_language_models_is_refused_for_tasks_of_ours(tiny_corpus):
    line = [str(tiny_corpus.path), "--path", "x.pt", "--task"]
    with pytest.raises(SystemExit, match="`fairseq-eval-lm` needs a model that predicts the next"):
        options.parse_args_and_arch(options.get_eval_lm_parser(), [*line, "bilingual_mlm"])
    options.parse_args_and_arch(options.get_eval_lm_parser(), [*line, "language_modeling"])


@pytest.mark.parametrize(
    ("task", "gpu", "cores", "flags", "count"),
    [
        ("bilingual_mlm", True, 16, (), 4),
        ("cdlm", True, 3, (), 2),
        ("clcr", True, 1, (), 0),
        ("bilingual_mlm", True, 16, ("--cpu",), 1),
        ("bilingual_mlm", False, 16, (), 1),
        ("bilingual_mlm", False, 1, (), 0),
        ("bilingual_mlm", True, 16, ("--num-workers", "1"), 1),
        ("bilingual_mlm", True, 2, ("--num-workers", "7"), 7),
        ("masked_lm", True, 16, (), 1),
    ],
)
def test_our_tasks_have_enough_loader_processes_by_default(
    task, gpu, cores, flags, count, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(devices, "processors", lambda: cores)
    found = parse("train", "--task", task, *flags).num_workers
    assert found == count and type(found) is int


def test_processes_of_one_training_share_the_processors(monkeypatch):
    monkeypatch.setattr(devices, "processors", lambda: 16)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert devices.loader_processes_by_default(True) == 1
