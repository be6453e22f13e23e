"""A declared option as argparse's, as a value, and as words of a command."""

import argparse
import dataclasses

import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import DATA, Input
from fairseq_xling.core.options import (
    REQUIRED,
    SEED_LIST,
    Items,
    add_fields,
    argument,
    items_of,
    option,
    part_of,
    to_argv,
    values_of,
)


@dataclasses.dataclass(frozen=True)
class Common:
    files: tuple[str, ...] = argument("what is read", Input("FILE"), words="+")


@dataclasses.dataclass(frozen=True)
class Example(Common):
    data: str = option(REQUIRED, "data folder, in 100 % of cases", metavar=DATA)
    layer: int | None = option(None, "a layer (default: the last)", least=0)
    text: str | None = option(None, "a text", one_of="source")
    split: str | None = option(None, "a split", one_of="source")
    seeds: str = option("1,2", "seeds", items=SEED_LIST)
    sizes: str = option("", "sizes", items=Items(int))
    names: str = option("", "names", items=Items())
    method: str = option("plain", "method", choices=("plain", "fasttext"))
    min_n: int = option(0, "n-grams", needs="method fasttext")
    lines: bool = option(False, "only lines", needs="text", group="lines")
    case: bool = option(True, "regard case")
    pairs: tuple[str, ...] = option((), "pairs; repeatable")
    start: str = option("", "where it begins", choices=("", "here"), flag="from")
    unit: str = option("word", "unit", choices=("word", "line"), usage=True)


BARE = "a b --data d --text t"


def parser():
    made = argparse.ArgumentParser(exit_on_error=False)
    add_fields(made, Example)
    return made


def load(words):
    return values_of(Example, parser().parse_args(words.split()))


def test_what_is_not_given_is_as_declared():
    assert load(BARE) == Example(files=("a", "b"), data="d", text="t")


@pytest.mark.parametrize(
    "more",
    [
        {"layer": 3, "seeds": "4,5", "case": False, "pairs": ("x=1", "y=2")},
        {"method": "fasttext", "min_n": 2, "lines": True, "unit": "line", "start": "here"},
    ],
)
def test_words_of_a_command_are_read_as_what_they_were_made_from(more):
    config = Example(files=("a",), data="d", text="t", **more)
    assert load(" ".join(to_argv(config))) == config
    assert to_argv(config, "data", "unit") == ["--data", "d", "--unit", config.unit]


def test_an_option_may_have_a_name_that_no_field_can_have():
    assert to_argv(load(f"{BARE} --from here"), "start") == ["--from", "here"]
    with pytest.raises(UserError, match="`--from`: unknown value 'there'"):
        load(f"{BARE} --from there")


def test_settings_are_the_options_of_their_names():
    @dataclasses.dataclass
    class Settings:
        seeds: list[int]
        unit: str = ""
        other: int = 3

    assert part_of(Settings, load(BARE), seeds=[1]) == Settings([1], "word")


def test_lists_are_split_as_declared():
    found = load(f"{BARE} --sizes 300,600 --names de,en")
    assert items_of(found, "seeds") == [1, 2] and items_of(found, "sizes") == [300, 600]
    assert items_of(found, "names") == ["de", "en"] and items_of(load(BARE), "sizes") == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--min-n 3", "`--min-n` needs `--method fasttext`"),
        ("--method fast", "`--method`: unknown value 'fast'; did you mean 'fasttext'? known: "),
        ("--seeds 1,1", "`--seeds` must be different and not negative, got '1,1'"),
        ("--sizes 1,x", "`--sizes` must be different whole numbers above 0, got '1,x'"),
    ],
)
def test_a_value_that_breaks_the_declaration_is_one_line(words, message):
    with pytest.raises(UserError) as error:
        load(f"{BARE} {words}")
    assert str(error.value).startswith(message)


def test_an_option_is_refused_without_the_one_that_it_needs():
    with pytest.raises(UserError, match=r"^`--lines` needs `--text`$"):
        load("a --data d --split s --lines")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{BARE} --split s", "not allowed with argument --text"),
        (f"{BARE} --unit x", "invalid choice: 'x'"),
        (f"{BARE} --layer -1", "must be at least 0, got -1"),
    ],
)
def test_bad_usage_is_argparses(words, message):
    with pytest.raises(argparse.ArgumentError, match=message):
        load(words)


def test_help_has_metavars_groups_and_signs():
    text = " ".join(parser().format_help().split())
    assert "FILE [FILE ...]" in text and "--data DATA data folder, in 100 % of cases" in text
    assert "(--text TEXT | --split TEXT)" in text and "--unit {word,line}" in text
    assert "lines: --lines only lines" in text and "--case, --no-case" in text
