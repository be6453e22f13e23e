"""The length penalty of an autoregressive model's beam search."""

from pathlib import Path

import pytest

from fairseq_xling.files import read_json
from fairseq_xling.papers.trelm.length_penalty import _choose, chosen_penalty
from fairseq_xling.papers.trelm.run import trelm_steps

REFERENCES = ["a b c d e", "f g h i"]
GIVEN = {"transfer_steps": 3, "translator_steps": 3, "autoregressive_lenpens": "0.6,1"}


def planned(settings, facts):
    return {step.name: step for step in trelm_steps(Path("run"), settings, {"de": facts})}


def test_each_penalty_is_tried_on_the_validation_text_and_the_best_one_translates(config, facts):
    steps = planned(config(**GIVEN, autoregressive=True), facts())
    tried = [f"lenpen-autoregressive-de-1-{value}" for value in ("0.6", "1")]
    for name, value in zip(tried, ("0.6", "1"), strict=True):
        (command,) = steps[name].commands
        assert command[command.index("--gen-subset") + 1] == "valid"
        assert command[command.index("--lenpen") + 1] == value
        assert steps["lenpen-autoregressive-de-1"].reads(steps[name])
    translation = steps["translate-autoregressive-de-1"]
    assert translation.reads(steps["lenpen-autoregressive-de-1"]) and translation.late


def test_a_teacher_that_is_given_is_searched_once_for_all_seeds(config, facts, tmp_path):
    (tmp_path / "teacher.pt").touch()
    settings = config(**GIVEN, teacher=str(tmp_path / "teacher.pt"), seeds="1,2")
    names = [name for name in planned(settings, facts()) if name.startswith("lenpen")]
    assert names == ["lenpen-teacher-de-0.6", "lenpen-teacher-de-1", "lenpen-teacher-de"]


@pytest.mark.parametrize("changed", [{"autoregressive_lenpens": ""}, {}])
def test_without_values_or_a_validation_text_nothing_is_tried(config, facts, changed):
    text = facts(**({} if changed else {"parallel": {"train", "test"}}))
    steps = planned(config(**(GIVEN | changed), autoregressive=True), text)
    assert not [name for name in steps if name.startswith("lenpen")]
    assert steps["translate-autoregressive-de-1"].late is None


def outputs(folder, texts):
    for number, text in enumerate(texts):
        lines = [
            f"{kind}-{n}\t{'-1.0' + chr(9) if kind == 'D' else ''}{line}\n"
            for kind, side in (("S", REFERENCES), ("T", REFERENCES), ("D", text))
            for n, line in enumerate(side)
        ]
        (folder / f"{number}.txt").write_text("".join(lines))
        yield folder / f"{number}.txt"


def test_the_highest_bleu_is_chosen_and_what_was_tried_is_kept(tmp_path):
    texts = [["a b c", "f g h i"], REFERENCES, ["a b c d e x", "f g h i x"]]
    files = list(outputs(tmp_path, texts))
    _choose([0.6, 1.4, 1.8], files, "13a", tmp_path / "found.json")
    found = read_json(tmp_path / "found.json")
    assert [one["lenpen"] for one in found["tried"]] == [0.6, 1.4, 1.8]
    assert found["tried"][1]["bleu"] == pytest.approx(100)
    assert found["chosen"] == 1.4 and "tok:13a" in found["signature"]
    assert chosen_penalty(tmp_path / "found.json") == ["--lenpen", "1.4"]


def test_among_equals_it_is_the_one_nearest_to_one(tmp_path):
    files = list(outputs(tmp_path, [REFERENCES] * 3))
    _choose([0.2, 1.2, 2.0], files, "13a", tmp_path / "found.json")
    assert read_json(tmp_path / "found.json")["chosen"] == 1.2
