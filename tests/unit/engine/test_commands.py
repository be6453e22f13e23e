"""What fairseq's programs are asked for: help, values of options, the text that they read."""

import argparse
import ast
import re
import sys
import time
from pathlib import Path

import fairseq.options as options
import pytest
import torch

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.core.errors import UserError
from fairseq_xling.engine import commands, devices
from fairseq_xling.engine.commands import literal


@pytest.mark.parametrize(
    "text",
    [
        *("1", "-1e-6", "+3", "True", "None", "'a'", "[]", "()", "{}", " (0.9, 0.98) "),
        *("[1, [2, (3,)]]", "{'a': 1, 'b': [2]}", "{1, 2}"),
    ],
)
def test_a_plain_value_is_that_of_python(text):
    assert literal(text) == ast.literal_eval(text.strip())
    assert type(literal(text)) is type(ast.literal_eval(text.strip()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[(512, 3)] * 3 + [(1024, 1)]", [(512, 3)] * 3 + [(1024, 1)]),
        ("2 * [1]", [1, 1]),
        ("3 - 1", 2),
        ("1024 * 0.5", 512.0),
    ],
)
def test_the_sums_and_multiples_that_architectures_are_written_in_are_computed(text, value):
    assert literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("__import__('os')", "print(1)", "x", "(1).real", "[i for i in [1]]", "lambda: 1"),
        *("1 if 1 else 2", "f'{1}'", "[1][0]", "2 ** 9", "(x := 1)", "{**{}}['a']", "hello", ""),
        *("10**9 * [0]", "[0] * 10**9", "[0] * 1000000000", "'a' * 100000", "(" * 5000, "1" * 9999),
        *("1 +", "'a' + 1", "{[]: 1}", "a\nb"),
    ],
)
def test_anything_else_is_one_line_at_once(text):
    began = time.monotonic()
    with pytest.raises(UserError, match="must be a plain value") as error:
        literal(text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 200
    assert time.monotonic() - began < 1


def test_what_is_no_text_is_a_type_error_as_in_python():
    with pytest.raises(TypeError):
        literal(3)


TRAINING = (
    *("--task", "cdlm", "--arch", "tri_bert_tiny", "--criterion", "unified_lm"),
    *("--optimizer", "adam", "--lr-scheduler", "inverse_sqrt"),
)


def parse(*flags):
    return options.parse_args_and_arch(options.get_training_parser(), ["data", *TRAINING, *flags])


def test_sentences_of_a_file_are_read_in_blocks_and_a_missing_one_is_named(tmp_path):
    stands_for = commands._read_input(lambda input, size: iter([[input, size]]))
    path = tmp_path / "a.txt"
    path.write_text(" a b \nc\n\nd")
    assert list(stands_for(str(path), 2)) == [["a b", "c"], ["", "d"]]
    assert list(stands_for("-", 2)) == [["-", 2]]
    with pytest.raises(SystemExit, match=r"error: none\.txt: no such file"):
        next(stands_for("none.txt", 2))
    path.write_bytes(b"\xff")
    with pytest.raises(SystemExit, match=r"a\.txt:1: not UTF-8"):
        next(stands_for(str(path), 2))


def test_bf16_on_the_command_line_does_not_mean_a_tpu(tmp_path):
    parser = options.get_training_parser()
    args = [str(tmp_path), "--bf16", "--task", "language_modeling", "--arch", "transformer_lm"]
    parsed = options.parse_args_and_arch(parser, args)
    assert (parsed.bf16, parsed.tpu) == (True, False)


def test_help_lists_the_options_of_what_was_named_in_groups(capsys):
    named = {"task": "cdlm", "arch": "tri_bert_tiny", "criterion": "unified_lm"}
    line = [word for kind, name in named.items() for word in (f"--{kind}", name)]
    with pytest.raises(SystemExit) as ended:
        options.parse_args_and_arch(options.get_training_parser(), [*line, "--help"])
    assert ended.value.code == 0
    blocks = capsys.readouterr().out.split("\n\n")
    groups = {title: text for title, _, text in (block.partition(":\n") for block in blocks)}
    added = {"task": "--objectives", "arch": "--emission", "criterion": "--auxiliary-weights"}
    for kind, own in added.items():
        group = groups[f"{kind} {named[kind]}"]
        assert own in group and "--seed" not in group
    assert "--seed" in groups["options"] and "--objectives" not in groups["options"]


def test_help_without_an_architecture_and_a_training_without_one(capsys):
    line = ["--task", "bilingual_mlm"]
    with pytest.raises(SystemExit):
        options.parse_args_and_arch(options.get_training_parser(), ["data", *line, "-h"])
    assert "task bilingual_mlm:" in capsys.readouterr().out
    sound = options.get_generation_parser()
    sound.add_argument("--arch", default="wav2vec2")  # as in fairseq-generate
    with pytest.raises(SystemExit):
        options.parse_args_and_arch(sound, ["data", *line, "-h"])
    assert "wav2vec2:" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="required: --arch"):
        options.parse_args_and_arch(options.get_training_parser(), ["data", *line])


@pytest.mark.parametrize("text", ["print('ran')", "hello", "(0.9, 0.98).__class__"])
def test_an_option_that_fairseq_evaluates_is_a_plain_value_or_one_line(text, capsys):
    from fairseq import utils
    from fairseq.optim.adam import FairseqAdam

    betas = argparse.Namespace(adam_betas="(0.9, 0.98)", adam_eps=1e-8, weight_decay=0.0, lr=[1])
    optimizer = object.__new__(FairseqAdam)
    optimizer.cfg = betas
    assert optimizer.optimizer_config["betas"] == (0.9, 0.98)
    assert utils.eval_str_list("1,2", int) == [1, 2] and utils.eval_bool("False") is False
    betas.adam_betas = text
    words = "fairseq-xling: error: an option must be a plain value"
    with pytest.raises(SystemExit, match=words):
        _ = optimizer.optimizer_config
    with pytest.raises(SystemExit, match=words):
        utils.eval_str_list(text)
    assert not capsys.readouterr().out


def test_no_module_of_fairseq_that_is_loaded_evaluates_python():
    loaded = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == "fairseq"}
    asking = [n for n, m in loaded.items() if _names_eval(m)]
    assert "fairseq.models.fconv_self_att" in asking and "fairseq.utils" in asking
    assert not [name for name in asking if "eval" not in vars(loaded[name])]


def _names_eval(module):
    """Whether the source calls the function ``eval``, not a method of that name."""
    path = getattr(module, "__file__", None) or ""
    if not path.endswith(".py"):
        return False
    return re.search(r"(?<![\w.])eval\(", Path(path).read_text(encoding="utf-8")) is not None


def test_an_unknown_option_is_one_line():
    with pytest.raises(SystemExit) as error:
        parse("--no-such", "1")
    assert str(error.value).startswith(
        "fairseq-xling: error: unrecognized arguments: --no-such 1; "
    )


def test_no_shell_reads_a_name_in_a_data_folder_that_is_named_on_the_command_line(tmp_path):
    line = [str(tmp_path), "--path", "x.pt", "--task"]
    options.parse_args_and_arch(options.get_generation_parser(), [*line, "translation"])
    (tmp_path / "x;touch marker;.fasta").touch()
    with pytest.raises(SystemExit, match=r"marker;\.fasta: must not be of proteins"):
        options.parse_args_and_arch(options.get_generation_parser(), [*line, "translation"])
    options.parse_args_and_arch(options.get_generation_parser(), [*line, "cdlm"])


def test_the_program_for_language_models_is_refused_for_tasks_of_ours(tiny_corpus):
    line = [str(tiny_corpus.path), "--path", "x.pt", "--task"]
    with pytest.raises(SystemExit, match="`fairseq-eval-lm` needs a model that predicts the next"):
        options.parse_args_and_arch(options.get_eval_lm_parser(), [*line, "bilingual_mlm"])
    options.parse_args_and_arch(options.get_eval_lm_parser(), [*line, "language_modeling"])


@pytest.mark.parametrize(
    ("task", "gpu", "cores", "flags", "count"),
    [
        ("bilingual_mlm", True, 16, (), 4),
        ("clcr", True, 1, (), 0),
        ("bilingual_mlm", True, 16, ("--cpu",), 1),
        ("bilingual_mlm", False, 16, (), 1),
        ("bilingual_mlm", False, 1, (), 0),
        ("bilingual_mlm", True, 16, ("--num-workers", "1"), 1),
        ("masked_lm", True, 16, (), 1),
    ],
)
def test_our_tasks_have_enough_loader_processes_by_default(
    task, gpu, cores, flags, count, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(devices, "processors", lambda: cores)
    found = parse("--task", task, *flags).num_workers
    assert found == count and type(found) is int


def test_processes_of_one_training_share_the_processors(monkeypatch):
    monkeypatch.setattr(devices, "processors", lambda: 16)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert devices.loader_processes_by_default(True) == 1
