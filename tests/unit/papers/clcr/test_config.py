"""The settings of `clcr run`, and its preset."""

import argparse
import dataclasses

import pytest

from fairseq_xling.papers.clcr.config import PRESETS, ClcrRunConfig
from fairseq_xling.runs.options import load_config

# Every field of the preset; what the paper does not report is as without it.
PAPER = {
    "preset": "paper",
    "data": "",
    "pair": "",
    "encoder": (),
    "encoder_data": (),
    "layer": "9",
    "transform": "residual",
    "attention_score": "transformed",
    "distance_norm": "l2",
    "anneal_beta": 0.01,
    "anneal_phases": "lm1,lm2",
    "transform_steps": 2000,
    "transform_lr": 5e-3,
    "transform_args": "",
    "rounds": 1,
    "lm_steps": 500,
    "lm_lr": 1e-3,
    "lm_args": "",
    "threshold": 0.0,
    "tune_on": "valid",
    "extract_steps": 500,
    "extract_lr": 1e-3,
    "delta": 0.2,
    "extract_hidden": 0,
    "extract_encoder": "frozen",
    "confident": True,
    "flip_rates": "",
    "extract_args": "",
    "orders": "rel,abs",
    "order_sides": "first",
    "order_steps": 1000,
    "order_lr": 1e-3,
    "order_args": "",
    "beam": 10,
    "weigh": "sign",
    "rows": "T+pGA,T,T+E,T+E+R",
    "encode_pairs": (),
    "encode_text": (),
    "dtype": "float16",
    "batch_size": 0,
    "max_tokens": 4000,
    "update_freq": 1,
    "warmup": 100,
    "schedule": "inverse_sqrt",
    "adam_betas": "0.9,0.999",
    "adam_eps": 1e-8,
    "weight_decay": 0.0,
    "clip": 1.0,
    "every": 250,
    "checkpoint": "last",
    "train_args": "",
    "seeds": "1",
    "device": "cpu",
    "precision": "auto",
    "jobs": 1,
}


@pytest.mark.row("C2", "C4", "C17")
def test_the_preset_of_the_paper_is_this_in_every_field():
    given = argparse.Namespace(config=None, preset="paper")
    assert dataclasses.asdict(load_config(ClcrRunConfig, given, PRESETS)) == PAPER


def test_options_take_precedence_over_the_preset():
    given = argparse.Namespace(config=None, preset="paper", attention_score="exclusive")
    config = load_config(ClcrRunConfig, given, PRESETS)
    assert (config.attention_score, config.layer) == ("exclusive", "9")
