"""`fairseq-xling clcr show` on a model that is perfect by construction."""

import json

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.models.ordering.absolute import AbsoluteOrder
from fairseq_xling.papers.clcr.measures_result import draw_sentence
from tests.toy_clcr import DIM, PIVOTS, POSITIONS, toy

SENTENCE = 8  # of `toy_pairs`, with key-points in another order, which is not its own inverse


class PerfectPositions(AbsoluteOrder):
    """Its positions are those of a relative head that makes no mistakes."""

    def __init__(self, relative):
        super().__init__(DIM, POSITIONS)
        self.relative = relative

    def forward(self, states, padding_mask=None):
        place = (self.relative(states, padding_mask) < 0).sum(2)
        return 50.0 * torch.nn.functional.one_hot(place, POSITIONS).float()


@pytest.fixture
def sentence(study, monkeypatch):
    """The study with a head that makes no mistake, and with one sentence as text and links."""
    module = study.model.parts["order_abs"]
    module.head = PerfectPositions(study.model.parts["order_rel"].head)
    monkeypatch.setattr(
        "fairseq_xling.papers.clcr.commands.clcr_show.token_names",
        lambda folder, lang, ids: [f"{lang}{i}" for i in ids],
    )
    study.texts = [text[SENTENCE - 1] for text in study.texts]
    study.links = study.links[SENTENCE - 1]
    return study


def shown(sentence, *flags):
    output = sentence.path / "show.json"
    figure = sentence.path / "show.svg"
    chosen = ["--sentence", str(SENTENCE), *flags]
    chosen += ["--output", str(output), "--figure", str(figure)]
    assert main(["clcr", "show", *sentence.given, *chosen]) == 0
    return json.loads(output.read_text()), figure.read_text()


@pytest.mark.row("C8", "C9")
def test_each_word_has_its_probability_of_a_key_point(sentence, capsys):
    record, svg = shown(sentence)
    for one, ids in zip(record["words"], sentence.texts, strict=True):
        lang = one["lang"]
        assert one["words"] == [f"{lang}{i}" for i in ids[:-1]]  # </s> has none
        concepts = np.asarray(ids[:-1]) - 6 < PIVOTS
        assert one["pivots"] == concepts.tolist()
        assert np.array_equal(np.array(one["p"]["plain"]) > 0.5, concepts)
        assert "confident" not in one["p"]
        assert all(f"<!-- {word}" in svg for word in one["words"])
    table = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line[2] for line in table[: len(sentence.texts[0]) - 1]] == record["words"][0]["words"]


@pytest.mark.row("C9", "C10")
def test_a_classifier_with_confident_labels_shows_the_plain_one_next_to_it(sentence):
    for side, extractor in enumerate(sentence.model.parts["extract"].sides):
        extractor.plain = torch.nn.Linear(DIM, 1)
        torch.nn.init.zeros_(extractor.plain.weight)
        torch.nn.init.constant_(extractor.plain.bias, float(side))
        extractor.plain = torch.nn.Sequential(extractor.plain, torch.nn.Flatten(0))
    without = toy().parts["extract"].sides[0].probabilities(torch.zeros(2, DIM))
    record, _ = shown(sentence)
    for side, one in enumerate(record["words"]):
        plain = torch.tensor(float(side)).sigmoid()
        assert one["p"]["plain"] == pytest.approx([float(plain)] * len(one["words"]))
        assert max(one["p"]["confident"]) > 0.9
    assert list(without) == ["plain"]


@pytest.mark.row("C11", "C12")
def test_perfect_heads_have_the_gold_matrices(sentence):
    record, svg = shown(sentence)
    maps = {(one["head"], one["title"]): np.array(one["matrix"]) for one in record["maps"]}
    # By hand: English key-points in their own order, their places in the German sentence.
    places = np.array([j for _, j in sentence.links])
    ranks = places.argsort().argsort()
    assert not np.array_equal(ranks, ranks.argsort())
    assert np.array_equal(maps["abs", "gold position"], np.eye(len(ranks))[ranks])
    np.testing.assert_allclose(maps["abs", "p(position)"], np.eye(len(ranks))[ranks], atol=1e-6)
    sign = np.sign(ranks[None] - ranks[:, None])
    assert np.array_equal(maps["rel", "gold order"], sign)
    np.testing.assert_allclose(maps["rel", "p(row before column)"], (sign + 1) / 2, atol=0.01)
    for one in record["maps"]:
        assert one["words"] == [f"en{sentence.texts[0][i]}" for i, _ in sentence.links]
        assert one["direction"] == "en in the order of de"
        assert f"{one['head']}: {one['title']}" in svg


def test_a_sentence_without_key_points_has_words_but_no_heat_maps(sentence, capsys):
    record, _ = shown(sentence, "--sentence", "1")
    assert record["maps"] == [] and not any(record["words"][0]["pivots"])
    assert "no heat maps" in capsys.readouterr().out


def test_mistakes_are_named(sentence, capsys):
    for flags, line in (
        (["--sentence", "41"], f"at most 40, the pairs of {sentence.path}/labels/valid, got 41"),
        (["--sentence", "0"], "`--sentence` must be at least 1, got 0"),
        (["--figure", "x.gif"], "`--figure`"),
        (["--split", "test"], "labels/test: no pivots"),
    ):
        assert main(["clcr", "show", *sentence.given, *flags]) == 1
        assert line in capsys.readouterr().err
    del sentence.model.model.parts["extract"]
    assert main(["clcr", "show", *sentence.given]) == 1
    assert "has no trained module 'extract'" in capsys.readouterr().err


def test_a_side_without_words_is_drawn():
    words = [
        {"lang": "en", "words": [], "p": {"plain": []}, "pivots": []},
        {"lang": "de", "words": ["haus"], "p": {"plain": [0.3]}, "pivots": [False]},
    ]
    figure = draw_sentence({"title": "t", "delta": 0.2, "words": words, "maps": []})
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[0].startswith("key-points of en") and len(figure.axes[0].get_xticks()) == 0
