import itertools

import pytest

from fairseq_xling.models.sharing import SharingPlan
from fairseq_xling.papers.emerging.sharing import (
    SETTINGS,
    WORDS,
    EmergingStructure,
    Options,
)


def by_code(layers):
    return {setting.code: setting.at_depth(layers) for setting in SETTINGS}


def test_every_row_of_the_specification_is_there_once():
    codes = [setting.code for setting in SETTINGS]
    assert codes == [*(f"A{n}" for n in range(1, 11)), "A5-union", "C", "T"]


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


def test_random_tokens_stay_in_the_language_exactly_where_something_is_private():
    for setting in by_code(8).values():
        given = setting.train_options()
        assert ("--random-within-language" in given) == bool(setting.separate)


def test_anchor_settings_differ_in_anchors_only():
    settings = by_code(8)
    codes = ("A3", "A4", "A5-union")
    assert [settings[code].vocab for code in codes] == ["union", "prefixed", "union"]
    assert settings["A5"].needs == settings["A5-union"].needs == WORDS
    assert settings["A3"].train_options() == settings["A4"].train_options() == []


# Conneau et al. (2020), Table 1, column "BPE merges"; from A6 on, nothing else has an 80k one.
TABLE = {"A1": "80k", "A2": "80k", "A3": "40k/40k", "A4": "40k/40k", "A5": "80k"}
TABLE |= {f"A{n}": "40k/40k" for n in range(6, 11)}


@pytest.mark.parametrize(("code", "cell"), TABLE.items())
def test_every_setting_has_the_vocabulary_of_the_papers_table(code, cell, tmp_path):
    """As the table shows it, and as the data folder of its model is made."""
    setting = by_code(8)[code]
    assert setting.bpe(80_000) == cell.replace("k", ",000")
    for lang in ("en", "de"):
        for file in (f"mono/train.{lang}.txt", f"other/mono/train.{lang}.txt", "en-de.tsv"):
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("a\n")
    config = Options(
        data_text=str(tmp_path), other_text=str(tmp_path / "other"), dictionary=str(tmp_path),
        vocab_size=80_000, layers=8, seeds="1", settings=code,
    )  # fmt: skip
    steps = {step.name: step for step in EmergingStructure().steps(tmp_path / "run", config)}
    (prepare,) = (step for name, step in steps.items() if name.startswith("prepare-"))
    (command,) = prepare.commands
    words = dict(itertools.pairwise(command))
    sizes = [f"{int(words['--vocab-size']) // 1000}k"]
    assert "/".join(sizes * (1 if words["--vocab"] == "joint" else 2)) == cell
    train = steps[f"train-{code}-en-de-1"].commands[0]
    assert train[1] == command[2]  # the model reads the folder that is prepared
