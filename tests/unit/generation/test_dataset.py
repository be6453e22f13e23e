"""Batches of sentences to translate."""

import numpy as np
import pytest
import torch

from fairseq_xling.data.folder import CLS, PAD, SEP, DataFolder
from fairseq_xling.data.plan import Limits
from fairseq_xling.data.sources import frame_order
from fairseq_xling.generation.dataset import Sentences, TranslationDataset


def sentences(*lengths):
    return Sentences([np.array([*range(10, 10 + length), SEP]) for length in lengths])


@pytest.fixture
def folder(tiny_corpus):
    return DataFolder(tiny_corpus.path)


@pytest.mark.parametrize("limits", [Limits(None, 3), Limits(20, None), Limits(20, 2)])
@pytest.mark.parametrize("window", [4, 1 << 15])
def test_every_sentence_comes_once_and_neighbours_in_length_together(limits, window):
    lengths = [5, 0, 9, 2, 2, 7, 1, 3, 12, 4, 4]
    dataset = TranslationDataset(sentences(*lengths), 64, window=window)
    batches = [dataset[indices] for indices in dataset.batches(limits)]
    ids = [i for batch in batches for i in batch["id"].tolist()]
    assert sorted(ids) == list(range(len(lengths)))
    for batch in batches:
        tokens, own = batch["net_input"]["src_tokens"], batch["net_input"]["src_lengths"]
        assert limits.rows is None or len(tokens) <= limits.rows
        assert limits.tokens is None or tokens.numel() <= limits.tokens or len(tokens) == 1
        assert own.tolist() == [lengths[i] + 2 for i in batch["id"].tolist()]
        for row, length in zip(tokens.tolist(), own.tolist(), strict=True):
            assert row[0] == CLS
            assert row[length - 1] == SEP
            assert set(row[length:]) <= {PAD}
        assert (batch["nsentences"], batch["ntokens"]) == (len(tokens), int(own.sum()))
    if window > len(lengths):
        widths = [batch["net_input"]["src_tokens"].shape[1] for batch in batches]
        assert widths == sorted(widths)


def test_references_come_without_the_frame_they_are_compared_without(folder, tiny_corpus):
    source, target = folder.parallel("test", "en", "de")
    batch = TranslationDataset(source, 64, target)[np.array([4, 1])]
    for row, index in zip(batch["target"], (4, 1), strict=True):
        assert row[row != PAD].tolist() == [*tiny_corpus.pairs["test"][index][1], SEP]
    assert "order" not in batch["net_input"]


def test_orders_are_those_of_training(folder):
    source, target = folder.parallel("test", "de", "en")
    order = folder.order("test", "de", "en")
    dataset = TranslationDataset(source, 64, target, order)
    numbers = np.arange(6)
    net_input = dataset[numbers]["net_input"]
    for i in range(6):
        sizes = len(source[i]) + 1, len(target[i]) + 1
        length = int(net_input["tgt_lengths"][i])
        assert length == sizes[1]
        assert net_input["order"][i, :length].tolist() == frame_order(order[i], *sizes).tolist()
        assert net_input["order"][i, length:].tolist() == [-1] * (
            net_input["order"].shape[1] - length
        )


def test_long_sources_and_orders_are_cut_but_never_references():
    source, target = sentences(9, 2), sentences(11, 2)
    order = Sentences([np.array([*range(1, 12), 10]), np.array([2, 1, 3])])
    dataset = TranslationDataset(source, 6, target, order)
    batch = dataset[np.array([0, 1])]
    assert dataset.num_truncated() == 1
    assert batch["net_input"]["src_tokens"][0].tolist() == [CLS, 10, 11, 12, 13, SEP]
    assert batch["net_input"]["src_lengths"].tolist() == [6, 4]
    assert batch["net_input"]["order"].tolist() == [[0, 1, 2, 3, 4, 5], [0, 2, 1, 3, -1, -1]]
    assert batch["net_input"]["tgt_lengths"].tolist() == [6, 4]
    assert batch["target"][0].tolist() == [*range(10, 21), SEP]


@pytest.mark.parametrize(("longest", "count"), [(10, 1), (11, 0), (3, 2)])
def test_a_sentence_with_its_frame_may_be_as_long_as_the_positions(longest, count):
    assert TranslationDataset(sentences(9, 2), longest).num_truncated() == count


def test_a_worker_without_a_batch_gets_an_empty_one():
    assert TranslationDataset(sentences(1), 64)[None] == {}


def test_the_batch_of_an_empty_line_is_its_frame():
    batch = TranslationDataset(sentences(0), 64)[np.array([0])]
    assert torch.equal(batch["net_input"]["src_tokens"], torch.tensor([[CLS, SEP]]))
