import pytest

from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.runs.sharing_settings import SETTINGS


def by_code(layers):
    return {setting.code: setting.at_depth(layers) for setting in SETTINGS}


def test_every_row_of_the_specification_is_there_once():
    codes = [setting.code for setting in SETTINGS]
    assert codes == [*(f"A{n}" for n in range(1, 11)), "C", "T"]


def test_eight_layers_are_the_papers():
    settings = by_code(8)
    assert settings["A7"].name == "Sep Emb + L1-3"
    assert settings["A8"].separate == "emb,1-6"
    assert settings["A10"].separate == "1-6"
    assert settings["C"].separate == "emb,1-8"
    assert settings["T"].separate == "4-8"


def test_every_plan_is_valid_at_every_depth():
    for layers in (1, 2, 4, 6, 8, 12, 24):
        for setting in by_code(layers).values():
            assert SharingPlan.parse(setting.separate, layers).any == bool(setting.separate)


def test_embeddings_are_separate_exactly_where_vocabularies_are():
    for setting in by_code(8).values():
        assert setting.separate.startswith("emb") == (setting.vocab == "separate")


@pytest.mark.row("G18")
def test_random_tokens_stay_in_the_language_exactly_where_something_is_private():
    for setting in by_code(8).values():
        assert ("--random-within-language" in setting.train_options) == bool(setting.separate)


def test_anchor_settings_differ_in_anchors_only():
    settings = by_code(8)
    assert [settings[code].vocab for code in ("A3", "A4", "A5")] == ["union", "prefixed", "union"]
    assert settings["A5"].needs_dictionary
    assert settings["A3"].train_options == settings["A4"].train_options == []
