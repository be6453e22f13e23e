"""Ranges of numbers: what they hold, how they are worded, and where declarations are read."""

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_xling.command_line import build_parser, verbs
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.options import parse_numbers, parse_seeds
from fairseq_xling.core.ranges import (
    ANY,
    BELOW_ONE,
    BOUNDS,
    COUNT,
    MOST,
    NOT_NEGATIVE,
    POSITIVE,
    SEED,
    SEEDS,
    SHARE,
    VARIABLE,
    Number,
    Range,
    bound,
    check_bound,
    check_fields,
    ranged,
)


def test_the_largest_seed_is_taken_by_every_generator():
    np.random.RandomState(SEEDS.check("--seed", MOST))
    torch.Generator().manual_seed(MOST)
    with pytest.raises(ValueError, match="Seed must be between"):
        np.random.RandomState(MOST + 1)


def _numbers(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from _numbers(one)
        elif action.type is not None:
            yield action


@pytest.mark.parametrize("verb", verbs())
def test_every_number_of_a_verb_has_a_range_and_every_seed_that_of_seeds(verb):
    whole = build_parser([verb])
    [commands] = [a for a in whole._actions if isinstance(a, argparse._SubParsersAction)]
    for action in _numbers(commands.choices[verb]):
        name = action.option_strings[-1] if action.option_strings else action.dest
        assert action.type not in (int, float), f"{verb} {name} has no range"
        if name == "--seed" or name.endswith("-seed"):
            assert action.type == SEED, f"{verb} {name}"
        if isinstance(action.type, Number) and action.default is not None:
            assert action.type(str(action.default)) == action.default, f"{verb} {name}"


@pytest.mark.parametrize(
    ("allowed", "rule", "inside", "outside"),
    [
        (COUNT, "must be at least 1", (1, 2**31 - 1), (0, -1)),
        (POSITIVE, "must be above 0", (1e-9,), (0, -0.0)),
        (SHARE, "must lie in [0, 1]", (0, 0.5, 1), (-0.1, 1.1)),
        (BELOW_ONE, "must lie in [0, 1)", (0, 0.99), (1,)),
        (Range(0, 0.5, above=True), "must lie in (0, 0.5]", (0.5,), (0,)),
        (Range(most=3), "must be at most 3", (3, -1e300), (4,)),
        (ANY, "must be finite", (-1e300, 0), ()),
    ],
)
def test_a_range_says_what_it_holds(allowed, rule, inside, outside):
    assert allowed.rule == rule
    assert [allowed.check("--x", number) for number in inside] == list(inside)
    for number in outside:
        with pytest.raises(UserError) as error:
            allowed.check("--x", number)
        assert str(error.value) == f"`--x` {rule}, got {number}"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("allowed", [ANY, COUNT, SHARE])
def test_no_range_holds_what_is_not_finite(allowed, number):
    with pytest.raises(UserError, match=f"`--x` must be finite, got {number}"):
        allowed.check("--x", number)


def test_an_option_that_is_not_given_passes():
    assert COUNT.check("--x", None) is None


@pytest.mark.parametrize(
    ("kind", "text", "rule"),
    [
        (int, "1.5", "must be a whole number, got '1.5'"),
        (int, "9" * 5000, "must be a whole number, got '999"),
        (int, "0", "must be at least 1, got 0"),
        (float, "one", "must be a number, got 'one'"),
        (float, "nan", "must be finite, got nan"),
    ],
)
def test_an_argument_of_a_verb_is_held_to_its_range(kind, text, rule):
    with pytest.raises(argparse.ArgumentTypeError) as error:
        Number(kind, COUNT)(text)
    assert str(error.value).startswith(rule) and len(str(error.value)) < 100


@dataclass
class _Config:
    rate: float = field(default=0.5, metadata=ranged("how fast", SHARE))
    steps: int = field(default=1, metadata=ranged("how many", COUNT))
    name: str = field(default="", metadata={"help": "what"})


def test_fields_are_held_to_the_range_in_their_metadata():
    check_fields(_Config, _Config())
    check_fields(_Config, SimpleNamespace(rate=0.1))  # an older checkpoint has not all
    with pytest.raises(UserError, match=r"`--rate` must lie in \[0, 1\], got 2"):
        check_fields(_Config, _Config(rate=2))


def test_help_shows_a_range_that_is_not_plain():
    helps = {name: one.metadata["help"] for name, one in _Config.__dataclass_fields__.items()}
    assert helps == {"rate": "how fast; in [0, 1]", "steps": "how many", "name": "what"}


@pytest.mark.parametrize("text", ["1_0", "٣", "１", "1e3_0", "²"])
@pytest.mark.parametrize("kind", [int, float])
def test_digits_are_those_of_ascii_with_nothing_between(kind, text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"must be a (whole )?number, got"):
        Number(kind)(text)
    with pytest.raises(UserError, match="`--seeds` must be"):
        parse_seeds("--seeds", f"1,{text}")
    with pytest.raises(UserError, match="`--lrs` must be different"):
        parse_numbers("--lrs", f"1,{text}", kind)


@pytest.mark.parametrize("range", [ANY, COUNT, NOT_NEGATIVE, Range(3)])
def test_a_whole_number_without_an_end_has_that_of_32_bits(range):
    number = Number(int, range)
    assert number(str(2**31 - 1)) == 2**31 - 1
    for text in (str(2**31), "1" + 20 * "0"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"must be at most {2**31 - 1}, got"):
            number(text)
    assert Number(int, SEEDS)(str(MOST)) == MOST  # its own end
    assert Number(float, range)("1e20") == 1e20
    with pytest.raises(UserError, match="must be at most 2147483647"):
        parse_numbers("--layers", "1,100000000000000000000", int)


def test_a_value_above_a_bound_is_refused_with_the_way_to_raise_it(monkeypatch):
    most = BOUNDS["sentence"].default
    check_bound("sentence", most, "a.conllu:1")
    with pytest.raises(UserError) as refused:
        check_bound("sentence", most + 1, "a.conllu:1")
    assert str(refused.value) == (
        "a.conllu:1: must be at most 3000 lines in an annotated sentence, got 3001 or more; "
        "FAIRSEQ_XLING_BOUNDS=sentence=N raises the bound"
    )
    monkeypatch.setenv(VARIABLE, "line=5, sentence=3001")
    check_bound("sentence", most + 1, "a.conllu:1")
    assert bound("line") == 5 and bound("json") == BOUNDS["json"].default


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lines=5", "unknown bound in FAIRSEQ_XLING_BOUNDS 'lines'; did you mean 'line'"),
        ("line", "FAIRSEQ_XLING_BOUNDS: line must be a whole number, got ''"),
        ("line=-5", "FAIRSEQ_XLING_BOUNDS: line must be a whole number, got '-5'"),
        ("line=" + "9" * 5000, "FAIRSEQ_XLING_BOUNDS: line must be a whole number"),
    ],
)
def test_a_mistaken_bound_is_named(monkeypatch, text, message):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(UserError, match=message):
        bound("line")


def test_the_page_of_bounds_has_each_with_its_default():
    page = Path(__file__).parents[3] / "docs" / "reference" / "bounds.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {one.default} | {one.what} |" for name, one in BOUNDS.items()]
