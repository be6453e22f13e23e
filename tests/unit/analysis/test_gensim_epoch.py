"""Epochs of gensim's models, one by one."""

import pytest
from gensim.models import Word2Vec

from fairseq_xling.analysis.gensim_epoch import LAST_LR, train_epoch

SENTENCES = [["a", "b", "c"], ["b", "c", "a"]] * 5


@pytest.fixture
def model():
    made = Word2Vec(sg=1, vector_size=4, min_count=1, sample=0, workers=1, seed=1)
    made.build_vocab_from_freq({"a": 10, "b": 10, "c": 10})
    return made


def test_the_rate_falls_in_a_line_from_epoch_to_epoch(model, monkeypatch):
    rates = []
    monkeypatch.setattr(
        model, "train", lambda **given: rates.append((given["start_alpha"], given["end_alpha"]))
    )
    for epoch in range(2):
        train_epoch(model, epoch, SENTENCES, 30, lr=0.05, epochs=2)
    middle = (0.05 + LAST_LR) / 2
    assert rates == [(0.05, pytest.approx(middle)), (pytest.approx(middle), LAST_LR)]


def test_what_reading_raises_is_raised_instead_of_waiting_forever(model):
    def broken():
        yield SENTENCES[0]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        train_epoch(model, 0, broken(), 30, lr=0.05, epochs=1)
