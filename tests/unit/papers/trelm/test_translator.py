"""The translator that a migration ends in."""

from pathlib import Path

import pytest

from fairseq_xling.papers.trelm.run import trelm_steps


@pytest.mark.parametrize("start", ["forward", "scratch"])
def test_a_translator_starts_from_the_forward_model_or_from_nothing(config, facts, start):
    settings = config(transfer_steps=3, translator_steps=3, translator_start=start)
    steps = {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts()})}
    translator = steps["translator-de-1"]
    (command,) = translator.commands
    assert ("--finetune-from-model" in command) == (start == "forward")
    assert translator.reads(steps["forward-de-1"]) == (start == "forward")
    assert translator.reads(steps["prepare-de"])
