import numpy as np
import pytest

from fairseq_xling.data.feeds import make_feeds, own_ids
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.sources import Pairs, Sentences, Stream
from fairseq_xling.errors import UserError
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.base import Vocabulary


@pytest.fixture
def feeds_of(tiny_corpus, options):
    def make(*names, split="train", languages=("en", "de"), shares=None, **changes):
        cfg = options(**changes)
        made = [objectives[name](cfg, Vocabulary({}, {})) for name in names]
        shares = shares or {name: 1.0 for name in names}
        return make_feeds(
            DataFolder(tiny_corpus.path), split, languages, made, cfg, shares, cfg.max_positions
        )

    return make


def test_every_objective_reads_its_sources(feeds_of):
    feeds = {feed.key: feed.source for feed in feeds_of("mlm", "tlm")}
    assert {key: type(source) for key, source in feeds.items()} == {
        "mlm:en": Sentences,
        "mlm:de": Sentences,
        "tlm:en-de": Pairs,
    }
    assert {type(f.source) for f in feeds_of("mlm", sample_break_mode="none")} == {Stream}


def test_languages_share_by_sentences_also_where_they_are_streams(feeds_of):
    # 90 and 30 sentences: .75^.7 / (.75^.7 + .25^.7)
    expected = 0.75**0.7 / (0.75**0.7 + 0.25**0.7)
    for mode in ("none", "sentence"):
        en, de = feeds_of("mlm", sample_break_mode=mode)
        assert en.share == pytest.approx(expected)
        assert en.share + de.share == pytest.approx(1)


def test_objectives_share_as_they_are_told_whatever_they_read(feeds_of):
    feeds = feeds_of("mlm", "tlm", shares={"mlm": 3.0, "tlm": 1.0})
    totals = {}
    for feed in feeds:
        totals[feed.objective.name] = totals.get(feed.objective.name, 0) + feed.share
    assert totals == pytest.approx({"mlm": 3.0, "tlm": 1.0})


def test_only_the_languages_asked_for_are_read(feeds_of):
    assert [feed.key for feed in feeds_of("mlm", languages=["de"])] == ["mlm:de"]


def test_a_split_without_text_for_an_objective_is_refused(feeds_of):
    with pytest.raises(UserError, match=r"has no .*'dev' text"):
        feeds_of("mlm", split="dev")
    with pytest.raises(UserError, match=r"has no 'train' text for objective 'tlm' \(parallel\) in"):
        feeds_of("tlm", languages=["en"])


def test_objectives_of_which_none_has_a_share_are_refused(feeds_of):
    with pytest.raises(UserError, match="`--objective-shares` must give at least one objective"):
        feeds_of("mlm", shares={"mlm": 0.0})


def test_cut_sentences_are_counted_in_the_log(feeds_of, caplog, tiny_corpus):
    cut = sum(len(s) > 3 for s in tiny_corpus.mono["train"]["de"])
    with caplog.at_level("WARNING"):
        feeds_of("mlm", max_positions=5)
    assert f"train de: {cut} sentences are cut at --max-positions 5" in caplog.messages
    caplog.clear()
    feeds_of("mlm", max_positions=64)
    assert not caplog.messages


@pytest.mark.parametrize("piece", [7, 1 << 24])
def test_own_ids_are_those_of_the_training_text_without_specials(tiny_corpus, piece):
    folder = DataFolder(tiny_corpus.path)
    for lang in ("en", "de"):
        found = own_ids(folder, lang, piece)
        words = set(tiny_corpus.stream("train", lang))
        assert found.tolist() == sorted(w for w in words if w >= SPECIALS)
        assert found.dtype == np.int64
