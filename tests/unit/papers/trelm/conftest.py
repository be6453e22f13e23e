"""Settings and facts of a migration from an encoder of 4 layers, 16 wide, that is not there."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fairseq_xling.models.encoder import EncoderShape
from fairseq_xling.papers.trelm.config import TrelmConfig
from fairseq_xling.papers.trelm.inputs import InputSummary
from fairseq_xling.papers.trelm.run import trelm_steps
from fairseq_xling.workflow.step import Step

SPLITS = ("train", "valid", "test")


@pytest.fixture
def config() -> Callable[..., TrelmConfig]:
    """``config(seeds="1,2")``: settings that hang together, without steps to warm up."""

    def make(**changes) -> TrelmConfig:
        common = {"source": "source.pt", "text": "text", "warmup": 2, "translator_steps": 0}
        return TrelmConfig(**{**common, **changes})

    return make


@pytest.fixture
def facts() -> Callable[..., InputSummary]:
    """``facts(parallel={"train": ()})``: text of every split, one dictionary for both languages."""

    def make(languages=("en", "de"), layers=4, **changes) -> InputSummary:
        shape = EncoderShape(layers, 16, 32, 2, 64, num_segments=2, lm_head="bert", norm_eps=1e-12)
        values = {
            "mono": frozenset((split, lang) for split in SPLITS for lang in languages),
            "parallel": {
                split: [Path(f"{split}.{lang}.txt") for lang in languages] for split in SPLITS
            },
            "dictionaries": (tuple(languages),),
            **changes,
        }
        return InputSummary(shape, **values)

    return make


@pytest.fixture
def planned(config, facts) -> Callable[..., Mapping[str, Step]]:
    """``planned(seeds="1,2")``: all steps of a run by name."""

    def make(known=None, **changes) -> Mapping[str, Step]:
        chosen = config(**changes)
        inputs = known or {lang: facts(languages=("en", lang)) for lang in chosen.targets}
        return {step.name: step for step in trelm_steps(Path("run"), chosen, inputs)}

    return make
