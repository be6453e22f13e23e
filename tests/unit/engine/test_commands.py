"""What fairseq's programs are asked for: help, values of options, the text that they read."""

import argparse
import re
import sys
from pathlib import Path

import pytest

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.engine import commands


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
    from fairseq import options

    parser = options.get_training_parser()
    args = [str(tmp_path), "--bf16", "--task", "language_modeling", "--arch", "transformer_lm"]
    parsed = options.parse_args_and_arch(parser, args)
    assert (parsed.bf16, parsed.tpu) == (True, False)


def test_help_lists_the_options_of_what_was_named_in_groups(capsys):
    from fairseq import options

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
    from fairseq import options

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
