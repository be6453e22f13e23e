"""The page of deviations: its tables of presets are the presets, and its options are there."""

import argparse
import re

import pytest

from fairseq_xling.command_line import build_parser, verbs
from fairseq_xling.engine.prepare import prepare_engine
from fairseq_xling.papers.emerging import mapped_layers, similarity
from fairseq_xling.papers.emerging import sharing as ablation_config
from fairseq_xling.papers.trelm import config as run_config
from fairseq_xling.studies.encoder_training import PAPER
from tests.end_to_end.pages import DOCS

TEXT = (DOCS / "explanation" / "deviations.md").read_text(encoding="utf-8")


def table_of(heading):
    """Option and value of the first table after a heading."""
    part = TEXT.partition(f"### `{heading}`\n")[2].partition("\n#")[0]
    return dict(re.findall(r"^\| `--([\w-]+)` \| (.*) \|$", part, re.MULTILINE))


def shown(values):
    names = {True: "true", False: "false", "": "none"}
    return {
        name.replace("_", "-"): names.get(value, str(value)) if isinstance(value, bool | str)
        else str(value)
        for name, value in values.items()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "preset"),
    [
        ("ablate emerging-structure --preset paper", ablation_config.PRESETS["paper"]),
        ("trelm run --preset trelm", run_config.PRESETS["trelm"]),
    ],
)
def test_the_table_of_a_preset_is_the_preset(heading, preset):
    assert table_of(heading) == shown(preset)


def test_what_the_page_says_of_the_other_presets():
    other = run_config.PRESETS["trelm-id"]
    changed = {k: v for k, v in other.items() if v != run_config.PRESETS["trelm"][k]}
    (line,) = (line for line in TEXT.splitlines() if line.startswith("`trelm-id` has"))
    for name, value in shown(changed).items():
        assert f"`--{name}` {value}" in line
    assert len(changed) == 2
    for module, languages in ((similarity, "en,fr,de,ru,zh"), (mapped_layers, None)):
        preset = dict(module.PRESETS["paper"])
        assert preset.pop("languages") == (languages or "en,fr,ru,zh")
        if module is similarity:
            assert preset.pop("contexts") == 500_000
        if module is mapped_layers:
            assert preset.pop("normalize") == "iterative"
            assert "`--normalize iterative` of `map contextual` and `ablate mapped-layers`" in TEXT
        assert preset == PAPER


def options(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from options(sub)
        yield from action.option_strings


@pytest.fixture(scope="module")
def known():
    """Every option of our verbs, tasks and models."""
    found = {option for name in verbs() for option in options(build_parser([name]))}
    prepare_engine()
    from fairseq_xling.models.tri_encoder import TriTransformerConfig
    from fairseq_xling.training.config import UnifiedTaskConfig

    for config in (TriTransformerConfig, UnifiedTaskConfig):
        found |= {f"--{name.replace('_', '-')}" for name in config.__dataclass_fields__}
    return found


def test_every_option_of_the_page_is_there(known):
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    assert len(named) > 60
    assert named <= known, sorted(named - known)
