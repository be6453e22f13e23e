import argparse
import dataclasses
import json
import re

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import option
from fairseq_xling.workflow.options import add_options, load_config, parse_seeds


@dataclasses.dataclass(frozen=True)
class Settings:
    preset: str = option("", "a published system")
    languages: str = option("en,de", "languages")
    steps: int = option(10, "optimiser steps", least=1)
    lr: float = option(0.1, "learning rate", least=0)
    quick: bool = option(False, "whether it is quick, in 100 % of cases")
    max_tokens: int = option(10, "tokens of a batch", least=1)
    mono: tuple[str, ...] = option((), "files")
    device: str = option("cpu", "cpu or cuda", choices=("cpu", "cuda"))


PRESETS = {"paper": {"steps": 1000, "lr": 3e-5}}


def load(*words, yaml=None, folder=None):
    parser = argparse.ArgumentParser()
    add_options(parser, Settings)
    if yaml is not None:
        (folder / "run.yaml").write_text(yaml, encoding="utf-8")
        words = ("--config", str(folder / "run.yaml"), *words)
    return load_config(Settings, parser.parse_args(list(words)), PRESETS)


def test_defaults_presets_file_and_command_line_come_in_this_order(tmp_path):
    assert load() == Settings()
    assert load("--preset", "paper") == Settings("paper", steps=1000, lr=3e-5)
    found = load("--lr", "0.5", yaml="preset: paper\nsteps: 20\nlr: 0.2\n", folder=tmp_path)
    assert found == Settings("paper", steps=20, lr=0.5)


def test_each_type_is_read_from_text_and_from_yaml(tmp_path):
    words = "--steps 3 --lr 3e-5 --quick --mono a=1,2 --mono b=3".split()
    expected = Settings(steps=3, lr=3e-5, quick=True, mono=("a=1,2", "b=3"))
    assert load(*words) == expected
    yaml = "steps: 3\nlr: 3e-5\nquick: yes\nmono: [a=1,2x, b=3]\nlanguages: [en, fr]\n"
    expected = dataclasses.replace(expected, languages="en,fr", mono=("a=1", "2x", "b=3"))
    assert load(yaml=yaml, folder=tmp_path) == expected
    yaml = "quick: false\nmono: a=1,2\nlanguages:\ndevice: cuda\n"
    assert load(yaml=yaml, folder=tmp_path) == Settings(mono=("a=1,2",), device="cuda")
    assert load("--quick", "no") == Settings()


def test_names_in_files_may_be_spelt_either_way(tmp_path):
    with pytest.raises(UserError, match=r"unknown option 'step'; did you mean 'steps'. known:"):
        load(yaml="step: 3\n", folder=tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--preset papr", "unknown `--preset` 'papr'; did you mean 'paper'? known: paper"),
        ("--config none.yaml", "none.yaml: no such file"),
    ],
)
def test_bad_values_are_one_line(words, message):
    with pytest.raises(UserError) as error:
        load(*words.split())
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("steps: 2.5", "{file}: `--steps` must be a whole number, got '2.5'"),
        ("steps: yes", "{file}: `--steps` must be a whole number, got 'yes'"),
        ("lr: 1:30.5", "{file}: `--lr` must be a number, got '1:30.5'"),
        ("lr: 2024-01-02", "{file}: `--lr` must be a number, got '2024-01-02'"),
        ("quick: on", "{file}: `--quick` must be true or false, got 'on'"),
        ("languages: {a: 1}", "{file}: `--languages` must be one value, got {'a': '1'}"),
        ("steps: 0", "{file}: `--steps` must be at least 1, got 0"),
        ("preset: no", "{file}: unknown `--preset` 'no'; known: paper"),
        ("max-tokens: 1\nmax_tokens: 2", "{file}: `max-tokens` is given twice"),
        ("- steps", "{file}: must contain `option: value` lines, got ['steps']"),
        ("mono: [{a: 1}]", "{file}: `mono` must be a value or a list of values, got [{'a': '1'}]"),
        ("mono: [a, ~]", "{file}: `mono` must be a value or a list of values, got ['a', None]"),
    ],
)
def test_bad_files_are_one_line(tmp_path, yaml, message):
    with pytest.raises(UserError) as error:
        load(yaml=yaml, folder=tmp_path)
    assert str(error.value) == message.replace("{file}", str(tmp_path / "run.yaml"))


def test_a_value_of_a_file_means_what_it_does_on_the_command_line(tmp_path):
    yaml = 'steps: 010\nmax-tokens: 007\nlanguages: [no, on, 010, 1e3]\nmono: [1:30, "~"]\n'
    found = load(yaml=yaml, folder=tmp_path)
    assert (found.steps, found.max_tokens) == (load("--steps", "010").steps, 7)
    assert (found.languages, found.mono) == ("no,on,010,1e3", ("1:30", "~"))


def test_a_mistake_of_the_command_line_does_not_name_the_file(tmp_path):
    with pytest.raises(UserError, match=r"^`--steps` must be at least 1, got 0$"):
        load("--steps", "0", yaml="steps: 5\n", folder=tmp_path)


@pytest.mark.parametrize(
    "value",
    [
        *("--lr 1 --user-dir /x", "--user-dir=/x", "a '--user-dir' b", "--user-'dir' /x"),
        *("--user\\-dir /x", '\'--train-args "--user-""dir /x"\'', ["--lr 1 --user-dir /x"]),
        *(["--lr", "--user-'dir'"], {"a": "--user-dir"}, "--ta'sk' audio_pretraining"),
        *("--distributed-init-method tcp://evil:1", "--launcher=slurm", "--lau'ncher-c' x.yaml"),
        *("--save-dir /x", "--log-file ~/.bashrc", "--tensorboard-logdir=/x", "--results-path /x"),
        *("--output /x", "--o /x", "--out=/x", "--source-vectors /x"),
    ],
)
def test_a_file_does_not_choose_code_or_outputs_and_a_command_line_does(tmp_path, value):
    """However it is quoted: options that contain several are split as a shell splits them."""
    rule = r"`languages` must not name a `--[\w-]*`; give it on the command line"
    with pytest.raises(UserError, match=rule):
        load(yaml=json.dumps({"languages": value}), folder=tmp_path)
    if isinstance(value, str):
        assert load(f"--languages={value}").languages == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1", "`--seeds` must be different and not negative, got '-1'"),
        (",".join(map(str, range(20_000))), "`--seeds`: must be at most 100 seeds or numbers in"),
        ("1,4294967296", "`--seeds` must lie in [0, 4294967295], got 4294967296"),
    ],
)
def test_seeds_are_different_numbers(text, message):
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        parse_seeds("--seeds", text)
