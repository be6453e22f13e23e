"""Arguments are returned as they are used, or refused in one line."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import numpy as np
import pytest

from fairseq_xling.core import arguments
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.ranges import SHARE, ranged


@dataclass
class Options:
    name: str = "a"
    size: int = field(default=1, metadata=ranged("how large", SHARE))
    weight: Optional[float] = None
    whole: bool = False


def test_numbers_become_pythons_own():
    assert type(arguments.count("k", np.int64(3))) is int
    assert type(arguments.number("x", np.float32(0.5))) is float
    assert type(arguments.option(Options, "size", np.int8(1))) is int


def test_lines_are_read_one_by_one():
    endless = arguments.each_line("lines", itertools.repeat("a"))
    assert list(itertools.islice(endless, 3)) == ["a"] * 3
    assert arguments.lines("lines", iter(["a", "b"])) == ["a", "b"]


def test_values_that_fit_are_returned():
    assert arguments.choice("way", "csls", ["csls"]) == "csls"
    assert arguments.path("folder", "a/b") == Path("a/b")
    for name, value in (("name", "b"), ("weight", None), ("weight", 2.0), ("whole", True)):
        assert arguments.option(Options, name, value) == value
    assert arguments.option(Options, "name", Path("a/b")) == "a/b"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.count("k", True), "`k` must be a whole number of at least 1, got True"),
        (lambda a: a.number("x", "a"), "`x` must be a number, got 'a'"),
        (lambda a: a.number("x", float("nan")), "`x` must be finite, got nan"),
        (lambda a: a.number("x", 10**999), "`x` must be finite, got a number of 3319 bits"),
        (lambda a: a.number("x", 2, int, SHARE), "`x` must lie in [0, 1], got 2"),
        (lambda a: a.number("x", 0.5, int, SHARE), "`x` must be a whole number, got 0.5"),
        (lambda a: a.flag("x", "yes"), "`x` must be True or False, got 'yes'"),
        (lambda a: a.lines("x", {"a": 1}), "`x` must be a list of strings, got {'a': 1}"),
        (lambda a: a.lines("x", frozenset()), "`x` must be a list of strings, got frozenset()"),
        (lambda a: a.text("x", None), "`x` must be a string, got None"),
        (lambda a: a.choice("x", "ab", ["abc"]), "unknown `x` 'ab'; did you mean 'abc'? known: ab"),
        (lambda a: a.option(Options, "size", "1"), "`size` must be a whole number, got '1'"),
        (lambda a: a.option(Options, "size", -1), "`size` must lie in [0, 1], got -1"),
        (lambda a: a.option(Options, "weight", "a"), "`weight` must be a number, got 'a'"),
        (lambda a: a.option(Options, "whole", 1), "`whole` must be True or False, got 1"),
    ],
)
def test_others_are_named_with_the_rule_and_the_value(call, message):
    with pytest.raises(UserError) as error:
        call(arguments)
    assert str(error.value).startswith(message)
