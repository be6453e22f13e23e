import numpy as np
import pytest
import torch

from fairseq_xling.analysis.static_encoder import StaticEncoder


@pytest.mark.parametrize("max_tokens", [1, 9, 8192])
def test_every_sentence_gets_its_rows_whatever_the_batches(max_tokens):
    table = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    sentences = [np.array([*ids, 2]) for ids in ([7, 8, 9], [], [29], [10, 3, 11])]
    found = {}
    for indices, states, words in StaticEncoder(table, ["en"]).states(sentences, "en", max_tokens):
        assert states.shape[:3] == (1, *words.shape)
        for row, index in enumerate(indices):
            found[index] = states[0, row], words[row]
    for index, ids in enumerate(sentences):
        states, words = found[index]
        assert (
            words[: len(ids) + 1].tolist() == [False, *(ids >= 6)]
            and not words[len(ids) + 1 :].any()
        )
        assert torch.equal(states[1 : len(ids)], torch.from_numpy(table[ids[:-1]]))


def test_there_is_no_language_model_in_it():
    with pytest.raises(NotImplementedError, match="static vectors have no language model"):
        StaticEncoder(np.zeros((7, 2)), ["en"]).masked_log_probs()
