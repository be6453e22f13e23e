"""`--task clcr`: its options, and which pair it takes.

The pairs that `--task clcr` reads.
"""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

import fairseq_xling.plugin  # noqa: F401
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import write_json
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.plan import BatchSpec
from fairseq_xling.papers.clcr.model import ClcrModelConfig
from fairseq_xling.papers.clcr.task import ClcrConfig, choose_pair, pair_feed


def test_no_option_hides_another():
    """fairseq swallows clashing option names, and one of the two would then do nothing."""
    from fairseq.dataclass.configs import FairseqConfig

    ours = [
        {
            f.name
            for f in fields(config)
            if not f.name.startswith("_") and not str(f.default).endswith(f".{f.name}}}")
        }
        for config in (ClcrConfig, ClcrModelConfig)
    ]
    theirs = set()
    for group in fields(FairseqConfig):
        if hasattr(group.type, "__dataclass_fields__"):
            theirs |= {f.name for f in fields(group.type)}
    assert not ours[0] & ours[1]
    assert not (ours[0] | ours[1]) & theirs


def test_the_pair_is_the_folders_only_one_or_the_one_that_is_named(tiny_corpus):
    folder = DataFolder(tiny_corpus.path)
    assert choose_pair(folder, None) == ("en", "de")
    assert choose_pair(folder, "de,en") == ("de", "en")
    with pytest.raises(UserError, match=r"`--clcr-pair` must be two languages, e\.g\. en,de"):
        choose_pair(folder, "en,de,fr")
    several = SimpleNamespace(path="x", pairs=lambda split: [("en", "de"), ("en", "zh")])
    with pytest.raises(UserError, match=r"has not one pair .* but en-de, en-zh"):
        choose_pair(several, None)


PAIR = ("en", "de")


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
    settings = {"pair": list(PAIR), "threshold": 0.5}
    write_json(tmp_path / "train" / "meta.json", {"settings": settings, "pivots": 0})
    with pytest.raises(UserError, match="contains no pivots to learn from; label again with a"):
        feed(folder, tmp_path)
