"""Scores by an autoregressive model, compared with fairseq's own scorer, sentence by sentence."""

import pytest
import torch
from fairseq.data import Dictionary
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
    rescored = Rescorer(model)(tokens, lengths, found)
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
    together = Rescorer(model)(tokens, lengths, found)
    for n in (0, 4, 8):
        alone = Rescorer(model)(tokens[n : n + 1], lengths[n : n + 1], found[n : n + 1])[0]
        assert [one["tokens"].tolist() for one in alone] == [
            one["tokens"].tolist() for one in together[n]
        ]
        assert [one["score"] for one in alone] == pytest.approx(
            [one["score"] for one in together[n]], abs=1e-4
        )
