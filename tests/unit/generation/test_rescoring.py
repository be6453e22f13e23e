"""Scores by an autoregressive model, compared with fairseq's own scorer, sentence by sentence."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import FairseqDecoder
from fairseq.sequence_scorer import SequenceScorer

from fairseq_xling.data.folder import CLS, PAD, SEP, DataFolder
from fairseq_xling.generation.rescoring import Rescorer
from tests.autoregressive_model import save_autoregressive


@pytest.fixture(scope="module")
def model(tiny_corpus, tmp_path_factory):
    return save_autoregressive(tmp_path_factory.mktemp("ar") / "model.pt", tiny_corpus.path)


def sentences(count, seed=3):
    """Framed sources of several lengths, and hypotheses for each, with and without an end."""
    generator = torch.Generator().manual_seed(seed)

    def words(n):
        return torch.randint(7, 40, (n,), generator=generator)

    sources = [torch.tensor([CLS, *words(2 + n % 5).tolist(), SEP]) for n in range(count)]
    found = []
    for n in range(count):
        texts = [words(1 + (n + k) % 6) for k in range(1 + n % 4)]
        texts += [torch.cat([words(3), torch.tensor([SEP])]), words(0)]
        found.append([{"tokens": text, "score": -float(k)} for k, text in enumerate(texts)])
    lengths = torch.tensor([*map(len, sources)])
    return torch.nn.utils.rnn.pad_sequence(sources, True, PAD), lengths, found


def expected(model, dictionary, source, tokens):
    target = torch.tensor([[*(t for t in tokens.tolist() if t != SEP), SEP]])
    before = target.roll(1, 1)
    sample = {
        "net_input": {
            "src_tokens": source[None],
            "src_lengths": torch.tensor([len(source)]),
            "prev_output_tokens": before,
        },
        "target": target,
    }
    scorer = SequenceScorer(dictionary)
    return float(scorer.generate([model], sample)[0][0]["score"]) * target.shape[1]


def test_scores_are_those_of_the_engines_own_scorer(model, tiny_corpus):
    tokens, lengths, found = sentences(9)
    words = Dictionary.load(str(DataFolder(tiny_corpus.path).dictionary_path("de")))
    rescored = Rescorer(model, 1.0, 0.0)(tokens, lengths, found)
    for row, size, block, new in zip(tokens, lengths.tolist(), found, rescored, strict=True):
        scores = [expected(model, words, row[1:size], one["tokens"]) for one in block]
        by_text = {tuple(o["tokens"].tolist()): s for o, s in zip(block, scores, strict=True)}
        assert [one["score"] for one in new] == sorted((o["score"] for o in new), reverse=True)
        assert [one["score"] for one in new] == pytest.approx(
            [by_text[tuple(one["tokens"].tolist())] for one in new], abs=1e-4
        )
        assert len(new) == len(block)


def test_a_score_does_not_depend_on_the_company(model):
    tokens, lengths, found = sentences(9)
    together = Rescorer(model, 1.0, 0.0)(tokens, lengths, found)
    for n in (0, 4, 8):
        own = slice(n, n + 1)
        (alone,) = Rescorer(model, 1.0, 0.0)(tokens[own], lengths[own], found[own])
        assert [one["tokens"].tolist() for one in alone] == [
            one["tokens"].tolist() for one in together[n]
        ]
        assert [one["score"] for one in alone] == pytest.approx(
            [one["score"] for one in together[n]], abs=1e-4
        )


def test_a_score_is_the_mean_of_both_models_weighed_and_a_bonus_for_each_word(model):
    tokens, lengths, found = sentences(9)
    theirs = Rescorer(model, 1.0, 0.0)(tokens, lengths, found)
    mixed = Rescorer(model, weight=0.75, bonus=0.5)(tokens, lengths, found)
    for block, alone, new in zip(found, theirs, mixed, strict=True):
        other = {tuple(one["tokens"].tolist()): one["score"] for one in alone}
        expected = {}
        for one in block:
            text = tuple(one["tokens"].tolist())
            words = sum(token != SEP for token in text)
            expected[text] = 0.25 * one["score"] + 0.75 * other[text] + 0.5 * words
        assert {tuple(one["tokens"].tolist()): one["score"] for one in new} == pytest.approx(
            expected, abs=1e-4
        )
        assert [one["score"] for one in new] == sorted((o["score"] for o in new), reverse=True)
    assert any(
        [one["tokens"].tolist() for one in a] != [one["tokens"].tolist() for one in b]
        for a, b in zip(theirs, mixed, strict=True)
    )


def test_without_weight_the_other_model_has_no_say(model):
    tokens, lengths, found = sentences(4)
    for block, new in zip(
        found, Rescorer(model, weight=0.0, bonus=0.0)(tokens, lengths, found), strict=True
    ):
        assert [one["score"] for one in new] == [one["score"] for one in block]


def test_words_that_hypotheses_share_are_read_once_and_their_scores_are_those_of_each(
    model, monkeypatch
):
    """Hypotheses of a search begin alike; one stands twice, one is empty, one starts others."""
    generator = torch.Generator().manual_seed(1)
    source = torch.tensor([[CLS, 9, 12, 20, SEP], [CLS, 8, 15, SEP, PAD]])
    start = torch.randint(7, 40, (6,), generator=generator).tolist()
    ends = [[], [11], [11, 30], [31], [31, 7, 8], [11, 30]]
    texts = [[[*start, *end] for end in ends] + [[], start[:3]], [[*start, 9], start]]
    read, layer = [], model.decoder.output_layer

    def output_layer(states):
        read.append(states.shape[:-1].numel())
        return layer(states)

    monkeypatch.setattr(model.decoder, "output_layer", output_layer)
    together = Rescorer(model).log_probs(source, torch.tensor([5, 4]), texts)
    distinct = {
        (n, tuple(text[:end]))
        for n, block in enumerate(texts)
        for text in block
        for end in range(len(text) + 1)
    }
    assert sum(read) < sum(len(text) + 1 for block in texts for text in block) / 2
    assert sum(read) == len(distinct)
    for n, block in enumerate(texts):
        for k, text in enumerate(block):
            row, size = source[n : n + 1], torch.tensor([5 - n])
            alone = Rescorer(model).log_probs(row, size, [[text]])
            assert together[n][k] == pytest.approx(alone[0][0], abs=1e-4)


def test_a_decoder_without_features_is_read_as_it_is(model):
    """fairseq's convolutional models, and others, have no output layer of their own."""

    class Whole(FairseqDecoder):
        def __init__(self):
            super().__init__(None)
            self.inner = model.decoder

        def forward(self, before, encoder_out=None):
            return self.inner(before, encoder_out=encoder_out)

    tokens, lengths, found = sentences(5)
    whole = SimpleNamespace(
        **{"encoder": model.encoder, "decoder": Whole(), "to": model.to},
        get_normalized_probs=model.get_normalized_probs,
    )
    expected = Rescorer(model)(tokens, lengths, found)
    for block, new in zip(expected, Rescorer(whole)(tokens, lengths, found), strict=True):
        assert [one["score"] for one in new] == pytest.approx([o["score"] for o in block], abs=1e-4)
