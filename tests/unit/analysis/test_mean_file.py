"""Means on disk: the same whatever the blocks and kills; damaged files are refused."""

import numpy as np
import pytest
import torch

from fairseq_xling.analysis.corpus import SplitCorpus, token_set
from fairseq_xling.analysis.language_mean import LanguageMean
from fairseq_xling.analysis.mean_file import compute_mean, read_mean
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import DataFolder


class Table:
    """A token's state on a layer is a row of a table."""

    languages, num_layers, width = ["en", "de"], 2, 4

    def __init__(self, dies_at=None):
        self.table = torch.randn(3, 100, 4, generator=torch.Generator().manual_seed(1))
        self.left = dies_at

    def states(self, sentences, lang, max_tokens=8192):
        for start in range(0, len(sentences), 3):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            part = sentences[start : start + 3]
            width = max(map(len, part)) + 1
            tokens = torch.tensor([[0, *ids, *[1] * (width - 1 - len(ids))] for ids in part])
            yield np.arange(start, start + len(part)), self.table[:, tokens], tokens >= 6


@pytest.fixture
def corpus(tiny_corpus, monkeypatch):
    monkeypatch.setattr("fairseq_xling.analysis.corpus.BLOCK", 7)
    return SplitCorpus(DataFolder(tiny_corpus.path).mono("train", "en"))


def compute(corpus, path, encoder=None, **identity):
    return compute_mean(encoder or Table(), corpus, "en", path, identity, {"note": "ü"})


def test_it_is_the_mean_over_all_tokens_of_the_corpus(corpus, tiny_corpus, tmp_path):
    found = compute(corpus, tmp_path / "en.safetensors")
    tokens = [token for sentence in tiny_corpus.mono["train"]["en"] for token in sentence]
    assert found.tokens == len(tokens)
    expected = Table().table[:, tokens].double().mean(1)
    torch.testing.assert_close(found.mean, expected, atol=1e-9, rtol=0)
    there = read_mean(tmp_path / "en.safetensors")
    assert torch.equal(there.mean, found.mean) and there.about == {"note": "ü"}
    assert [path.name for path in tmp_path.iterdir()] == ["en.safetensors"]


@pytest.mark.parametrize("steps", [1, 4, 20])
def test_killed_in_a_block_it_goes_on_to_the_same_bytes(corpus, tmp_path, steps):
    compute(corpus, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        compute(corpus, tmp_path / "out", Table(dies_at=steps))
    assert not (tmp_path / "out").exists()
    compute(corpus, tmp_path / "out", Table(dies_at=38 - steps // 3 * 3))  # 13 blocks of 3 batches
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_finished_file_stays_unless_something_else_is_asked_for(corpus, tmp_path):
    first = compute(corpus, tmp_path / "out", text="a")
    again = compute(corpus, tmp_path / "out", Table(dies_at=0), text="a")
    assert torch.equal(again.mean, first.mean)
    with pytest.raises(KeyboardInterrupt):
        compute(corpus, tmp_path / "out", Table(dies_at=0), text="b")


def test_a_text_without_tokens_has_no_mean(tmp_path):
    class Blank:
        name, total = "text", 2

        def blocks(self, done=0):
            yield [np.array([2]), np.array([2])]

    with pytest.raises(
        UserError, match="text: has no subword of 'en' that the vocabulary contains"
    ):
        compute(Blank(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_set_of_a_language_is_what_occurs_in_its_text(tiny_corpus):
    for lang in ("en", "de"):
        file = DataFolder(tiny_corpus.path).mono("train", lang)
        expected = {token for s in tiny_corpus.mono["train"][lang] for token in s}
        assert set(token_set(file, 86).nonzero().flatten().tolist()) == expected


def test_sums_that_were_kept_go_on_as_if_nothing_had_happened():
    states, words = torch.randn(2, 1, 5, 3), torch.ones(1, 5, dtype=torch.bool)
    whole, later = LanguageMean(), LanguageMean()
    whole.add(states, words)
    later.load(*whole.state())
    for mean in (whole, later):
        mean.add(states + 1, words)
    assert torch.equal(whole.value(), later.value())
