"""Scores by an autoregressive model, compared with fairseq's own scorer, sentence by sentence."""

from argparse import Namespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, build_model
from fairseq.sequence_scorer import SequenceScorer

from fairseq_xling.data.folder import CLS, PAD, SEP, DataFolder
from fairseq_xling.generation import rescoring
from fairseq_xling.generation.rescoring import Rescorer
from tests.autoregressive_model import save_autoregressive


@pytest.fixture(scope="module")
def model(tiny_corpus, tmp_path_factory):
    return save_autoregressive(tmp_path_factory.mktemp("ar") / "model.pt", tiny_corpus.path)


def hypothesis(tokens, score):
    """As a generator gives it: its own score may be the mean, ``score`` is the sum."""
    return {"tokens": tokens, "score": score / 2, "positional_scores": torch.full((2,), score / 2)}


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
        found.append([hypothesis(text, -float(k)) for k, text in enumerate(texts)])
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
            own = float(one["positional_scores"].sum())
            expected[text] = 0.25 * own + 0.75 * other[text] + 0.5 * words
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
        own = [float(one["positional_scores"].sum()) for one in block]
        assert [one["score"] for one in new] == own


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


OTHERS = {
    "lstm": {
        **{"encoder_hidden_size": 16, "decoder_hidden_size": 16, "decoder_out_embed_dim": 16},
        **{"encoder_layers": 1, "decoder_layers": 1, "criterion": "cross_entropy"},
    },
    "fconv": {
        **{"encoder_layers": "[(16, 3)]", "decoder_layers": "[(16, 3)]"},
        **{"decoder_out_embed_dim": 16, "max_source_positions": 99, "max_target_positions": 99},
    },
    "lightconv": {
        **{"encoder_layers": 1, "decoder_layers": 1, "encoder_conv_type": "lightweight"},
        **{"decoder_conv_type": "lightweight", "weight_softmax": True},
        **{"encoder_kernel_size_list": [3], "decoder_kernel_size_list": [3]},
        **{"encoder_attention_heads": 2, "decoder_attention_heads": 2},
    },
}


@pytest.mark.parametrize("arch", OTHERS)
def test_other_models_of_the_engine_score_each_whatever_else_there_is(
    arch, tiny_corpus, monkeypatch
):
    """Recurrent ones want their sources sorted, convolutional ones have no features to share."""
    monkeypatch.setattr(rescoring, "_WORDS", 8)  # so that there are several groups
    words = Dictionary.load(str(DataFolder(tiny_corpus.path).dictionary_path("de")))
    task = Namespace(source_dictionary=words, target_dictionary=words)
    width = {"encoder_embed_dim": 16, "decoder_embed_dim": 16}
    args = Namespace(arch=arch, **width, **OTHERS[arch])
    ARCH_CONFIG_REGISTRY[arch](args)
    torch.manual_seed(5)
    model = build_model(args, task).eval()
    tokens, lengths, found = sentences(6)
    together = Rescorer(model, 1.0, 0.0)(tokens, lengths, found)
    for n, block in enumerate(together):
        for one in block:
            only = [[one] if k == n else [] for k in range(6)]
            alone = Rescorer(model, 1.0, 0.0)(tokens, lengths, only)[n]
            assert [one["score"]] == pytest.approx([found["score"] for found in alone], abs=1e-4)
    assert len({one["score"] for block in together for one in block}) > 5


def test_a_hypothesis_longer_than_a_group_is_read_alone(model, monkeypatch):
    monkeypatch.setattr(rescoring, "_WORDS", 8)
    source, size = torch.tensor([[CLS, 9, SEP]]), torch.tensor([3])
    texts = [[7, 8], [*range(7, 27)], [7]]
    (together,) = Rescorer(model).log_probs(source, size, [texts])
    for text, score in zip(texts, together, strict=True):
        ((alone,),) = Rescorer(model).log_probs(source, size, [[text]])
        assert score == pytest.approx(alone, abs=1e-4)


def test_an_impossible_hypothesis_is_the_last_whatever_the_weight(model):
    tokens, lengths, found = sentences(2)
    found[0][0] = hypothesis(found[0][0]["tokens"], -torch.inf)
    for weight in (0.0, 0.5):
        rescored = Rescorer(model, weight)(tokens, lengths, found)[0]
        assert rescored[-1]["score"] == -torch.inf
    assert all(abs(one["score"]) < 1e9 for one in Rescorer(model, 1.0)(tokens, lengths, found)[0])
