"""`fairseq-xling clcr measure show` on a model that is perfect by construction."""

import numpy as np
import pytest
import torch

from fairseq_xling.cli import main
from fairseq_xling.models.ordering.absolute import AbsoluteOrder
from fairseq_xling.papers.clcr.measures import show
from fairseq_xling.reports.record import read_record
from fairseq_xling.reports.rows import distinct, select
from tests.toy_clcr import DIM, PAIR, PIVOTS, POSITIONS, toy

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
        "fairseq_xling.papers.clcr.measures.show.token_names",
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
    assert main(["clcr", "measure", "show", *sentence.given, *chosen]) == 0
    return read_record(output), figure.read_text()


def words_of(record, lang, measure="p plain"):
    return select(record.rows, {"task": show.WORDS, "target": lang, "measure": measure})


def test_each_word_has_its_probability_of_a_key_point(sentence):
    record, svg = shown(sentence)
    for lang, ids in zip(PAIR, sentence.texts, strict=True):
        own = words_of(record, lang)
        assert [row["word"] for row in own] == [f"{lang}{i}" for i in ids[:-1]]  # </s> has none
        concepts = np.asarray(ids[:-1]) - 6 < PIVOTS
        assert [row["pivot"] == "*" for row in own] == concepts.tolist()
        assert np.array_equal(np.array([row["value"] for row in own]) > 0.5, concepts)
        assert not any("value" in row for row in words_of(record, lang, "p confident"))
        assert all(f"<!-- {row['place']} {row['word']}" in svg for row in own)


def test_a_classifier_with_confident_labels_shows_the_plain_one_next_to_it(sentence):
    for side, extractor in enumerate(sentence.model.parts["extract"].sides):
        extractor.plain = torch.nn.Linear(DIM, 1)
        torch.nn.init.zeros_(extractor.plain.weight)
        torch.nn.init.constant_(extractor.plain.bias, float(side))
        extractor.plain = torch.nn.Sequential(extractor.plain, torch.nn.Flatten(0))
    without = toy().parts["extract"].sides[0].probabilities(torch.zeros(2, DIM))
    record, _ = shown(sentence)
    for side, lang in enumerate(PAIR):
        plain = [row["value"] for row in words_of(record, lang)]
        assert plain == pytest.approx([float(torch.tensor(float(side)).sigmoid())] * len(plain))
        assert max(row["value"] for row in words_of(record, lang, "p confident")) > 0.9
    assert list(without) == ["plain"]


def test_perfect_heads_have_the_gold_matrices(sentence):
    record, svg = shown(sentence)
    found = select(record.rows, {"task": show.ORDER})
    maps = {}
    for head, measure in {(row["head"], row["measure"]): None for row in found}:
        own = select(found, {"head": head, "measure": measure})
        size = len(distinct(own, "down"))
        maps[head, measure] = np.array([row["value"] for row in own]).reshape(size, size)
        named = [f"{n} en{sentence.texts[0][i]}" for n, (i, _) in enumerate(sentence.links, 1)]
        assert distinct(own, "down") == named
        assert distinct(own, "panel") == [f"{head}: {measure}\nen in the order of de"]
        assert f"{head}: {measure}" in svg
    # By hand: English key-points in their own order, their places in the German sentence.
    places = np.array([j for _, j in sentence.links])
    ranks = places.argsort().argsort()
    assert not np.array_equal(ranks, ranks.argsort())
    assert np.array_equal(maps["abs", "gold position"], np.eye(len(ranks))[ranks])
    np.testing.assert_allclose(maps["abs", "p(position)"], np.eye(len(ranks))[ranks], atol=1e-6)
    sign = np.sign(ranks[None] - ranks[:, None])
    assert np.array_equal(maps["rel", "gold order"], sign)
    np.testing.assert_allclose(maps["rel", "p(row before column)"], (sign + 1) / 2, atol=0.01)


def test_a_sentence_without_key_points_has_words_but_no_heat_maps(sentence, capsys):
    record, _ = shown(sentence, "--sentence", "1")
    assert distinct(record.rows, "task") == [show.WORDS]
    assert not any(row["pivot"] for row in words_of(record, "en"))
    assert "no heat maps" in capsys.readouterr().out


def test_mistakes_are_named(sentence, capsys):
    assert main(["clcr", "measure", "show", *sentence.given, "--sentence", "41"]) == 1
    line = f"at most 40, the pairs of {sentence.path}/labels/valid, got 41"
    assert line in capsys.readouterr().err
    del sentence.model.model.parts["extract"]
    assert main(["clcr", "measure", "show", *sentence.given]) == 1
    assert "has no trained module 'extract'" in capsys.readouterr().err
