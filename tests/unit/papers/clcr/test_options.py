"""The settings of `clcr run`, and its preset."""

import argparse
import dataclasses

from fairseq_xling.papers.clcr.options import PRESETS, Options
from fairseq_xling.workflow.options import load_config

# What differs from a run without it; of the rest the paper reports nothing.
PAPER = {
    "preset": "paper",
    "layer": "9",
    "anneal_phases": "lm1,lm2",
    "weigh": "sign",
    "rows": "T+pGA,T,T+E,T+E+R",
}


def test_the_preset_of_the_paper_is_this_in_every_field():
    given = argparse.Namespace(config=None, preset="paper")
    found = dataclasses.asdict(load_config(Options, given, PRESETS))
    assert found == {**dataclasses.asdict(Options()), **PAPER}
