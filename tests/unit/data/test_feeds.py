from collections import Counter

import numpy as np
import pytest

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.files import read_json, write_json
from fairseq_xling.data.example import Vocabulary
from fairseq_xling.data.feeds import Scope, make_feeds, own_ids, parse_directions
from fairseq_xling.data.folder import CLS, SEP, SPECIALS, DataFolder
from fairseq_xling.data.sources import Pairs, SegmentPairs, Sentences, Stream
from fairseq_xling.objectives import objectives


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
    totals = Counter()
    for feed in feeds_of("mlm", "tlm", shares={"mlm": 3.0, "tlm": 1.0}):
        totals[feed.objective.name] += feed.share
    assert totals == pytest.approx({"mlm": 3.0, "tlm": 1.0})


UNKNOWN = r"^unknown language in `--mono-languages` or `--directions` 'fr'; known: en, de$"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("mlm", {"split": "dev"}, r"has no .*'dev' text"),
        ("tlm", {"languages": ["en"]}, r"no 'train' text for objective 'tlm' \(parallel\) in"),
        ("mlm", {"shares": {"mlm": 0.0}}, "`--objective-shares` must give at least one objective"),
        ("mlm", {"mono_text": "both"}, "^`--mono-text` must be mono or parallel, got 'both'$"),
        ("mlm", {"directions": "en-fr"}, UNKNOWN),
        ("mlm", {"mono_languages": "en,fr"}, UNKNOWN),
    ],
)
def test_what_there_is_no_text_for_is_refused(feeds_of, name, changes, message):
    with pytest.raises(UserError, match=message):
        feeds_of(name, **changes)


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


# ---- directions


def keys(feeds):
    return [feed.key for feed in feeds]


def test_parallel_text_is_read_in_the_directions_asked_for(feeds_of, tiny_corpus):
    assert keys(feeds_of("cdlm")) == ["cdlm:en-de"]
    assert keys(feeds_of("cdlm", directions="de-en,de-en")) == ["cdlm:de-en"]
    feeds = feeds_of("cdlm", directions="de-en, en-de")
    assert keys(feeds) == ["cdlm:de-en", "cdlm:en-de"]
    assert [feed.share for feed in feeds] == pytest.approx([0.5, 0.5])
    to_german = dict(zip(tiny_corpus.ids["en"], tiny_corpus.ids["de"], strict=True))
    for number, (en, de) in enumerate(tiny_corpus.pairs["train"]):
        backward, forward = feeds[0].source[number], feeds[1].source[number]
        assert backward.source.tokens.tolist() == forward.target.tokens.tolist() == [0, *de, 2]
        assert backward.target.tokens.tolist() == forward.source.tokens.tolist() == [0, *en, 2]
        read = backward.source.tokens[backward.order].tolist()
        assert read == [to_german.get(word, word) for word in backward.target.tokens.tolist()]
        assert (backward.source.lang, backward.target.lang) == ("de", "en")


def test_alignments_are_opened_only_where_an_objective_needs_them(feeds_of, make_corpus):
    (plain,), (aligned,) = feeds_of("tlm"), feeds_of("brlm-mask")
    assert plain.source.order is None and aligned.source.order is not None


def test_a_direction_without_text_is_refused_though_another_has_some(make_corpus, options):
    corpus, cfg = make_corpus(), options(directions="en-de,en-fr")
    meta = read_json(corpus.path / "meta.json") | {"languages": ["en", "de", "fr"]}
    write_json(corpus.path / "meta.json", meta)
    made, folder = [objectives["tlm"](cfg, Vocabulary({}, {}))], DataFolder(corpus.path)
    with pytest.raises(UserError, match=r"has no parallel 'train' text of en-fr$"):
        make_feeds(folder, "train", ["en", "de", "fr"], made, cfg, {"tlm": 1.0}, 64)


@pytest.mark.parametrize("text", ["en", "en-", "-de", "en-en", "en-de-fr", "ende,en-de"])
def test_a_direction_that_is_none_is_refused(text):
    with pytest.raises(UserError) as refused:
        parse_directions(text)
    bad = text.split(",")[0]
    assert str(refused.value) == f"`--directions` must be like en-de,de-en, got {bad!r}"


def test_no_direction_is_all_as_prepared(options):
    assert parse_directions("") == parse_directions(" , ") == []
    scope = Scope.of(options(), ["en", "de"], 64)
    assert (scope.directions, scope.mono_languages) == ([], ["en", "de"])


# ---- what monolingual objectives read


def test_monolingual_objectives_keep_to_their_languages_and_parallel_ones_do_not(feeds_of):
    assert keys(feeds_of("mlm", languages=["de"])) == ["mlm:de"]
    feeds = feeds_of("mlm", "cdlm", "nsp", mono_languages="de")
    assert keys(feeds) == ["mlm:de", "cdlm:en-de", "nsp:de"]
    assert type(feeds[2].source) is SegmentPairs
    shares = {name: [f.share for f in feeds_of(name)] for name in ("mlm", "nsp")}
    assert shares["nsp"] == pytest.approx(shares["mlm"])


@pytest.mark.parametrize("mode", ["sentence", "none"])
def test_monolingual_text_can_be_a_side_of_the_parallel_text(feeds_of, tiny_corpus, mode):
    feeds = feeds_of("mlm", mono_text="parallel", sample_break_mode=mode)
    assert keys(feeds) == ["mlm:en@en-de", "mlm:de@en-de"]
    for side, feed in enumerate(feeds):
        rows = [feed.source[i].source for i in range(len(feed.source))]
        assert {row.lang for row in rows} == {["en", "de"][side]} == set(feed.source.languages)
        text = [token for row in rows for token in row.tokens.tolist() if token != CLS]
        assert text == [t for pair in tiny_corpus.pairs["train"] for t in [*pair[side], SEP]]
    only = feeds_of("mlm", mono_text="parallel", mono_languages="de", sample_break_mode=mode)
    assert keys(only) == ["mlm:de@en-de"]


# ---- sentences over the position table


def test_too_long_sentences_can_be_refused_instead_of_cut(feeds_of, tiny_corpus):
    lengths = {lang: [len(s) for s in tiny_corpus.mono["train"][lang]] for lang in ("en", "de")}
    longest = max(map(max, lengths.values()))
    feeds_of("mlm", max_positions=longest + 2, too_long="refuse")
    cut = sum(length > 4 for length in lengths["en"])
    of_pairs = 2 * sum(len(en) > 4 for en, _ in tiny_corpus.pairs["train"])  # both sides
    for name, text in (
        ("mlm", f"{cut} sentences of train en"),
        ("cdlm", f"{of_pairs} sentences of train en-de"),
    ):
        rule = f"data-bin: {text} are longer than `--max-positions` 6, and `--too-long` is refuse$"
        with pytest.raises(UserError, match=rule):
            feeds_of(name, max_positions=6, too_long="refuse")
