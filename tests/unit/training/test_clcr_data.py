"""The pairs that `--task clcr` reads."""

from types import SimpleNamespace

import numpy as np
import pytest

from fairseq_xling.clcr.label import write_labels
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.plan import BatchSpec
from fairseq_xling.errors import UserError
from fairseq_xling.training.clcr_data import pair_feed

PAIR = ("en", "de")


class NoPivots:
    """A model that finds nothing alike."""

    pair, norm = PAIR, "l2"

    def pairs(self, first, second, max_tokens):
        return iter(())


@pytest.fixture
def folder(make_corpus):
    return DataFolder(make_corpus(mode="separate").path)


def feed(folder, labels=None, positions=64, too_long="truncate"):
    cfg = SimpleNamespace(too_long=too_long)
    return pair_feed(folder, "train", PAIR, cfg, positions, labels)


def batch(one, rows):
    dataset = BatchDataset([one], {"clcr": 0}, seed=1)
    rows = np.array(rows)
    return dataset[BatchSpec(np.zeros_like(rows), rows, rows)]


def test_a_batch_has_a_sentence_on_one_side_and_its_translation_on_the_other(folder):
    found = batch(feed(folder), [0, 1, 2])
    sides = folder.parallel("train", *PAIR)
    for name, file in zip(("src", "tgt"), sides, strict=True):
        for n in range(3):
            row = found["net_input"][name]["tokens"][n]
            assert row[row >= SPECIALS].tolist() == file[n][:-1].tolist()
    assert found["net_input"]["pair"] == PAIR and "order" not in found["net_input"]


def test_sentences_beyond_the_position_table_are_cut_or_refused(folder):
    found = batch(feed(folder, positions=4), range(20))
    assert found["net_input"]["src"]["tokens"].shape[1] == 4
    with pytest.raises(UserError, match="are longer than the encoders' position tables, 4 tokens"):
        feed(folder, positions=4, too_long="refuse")


def test_labels_without_a_pivot_are_not_trained_on(folder, tmp_path):
    sides = folder.parallel("train", *PAIR)
    settings = {"pair": list(PAIR), "threshold": 0.5}
    write_labels(NoPivots(), sides, tmp_path / "labels" / "train", settings, 64)
    with pytest.raises(UserError, match="contains no pivots to learn from"):
        feed(folder, tmp_path / "labels")
