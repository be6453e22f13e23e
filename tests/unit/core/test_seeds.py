import argparse

import numpy as np
import pytest
import torch

from fairseq_xling.command_line import build_parser, verbs
from fairseq_xling.core.ranges import Number
from fairseq_xling.core.seeds import MOST, SEED, SEEDS


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
