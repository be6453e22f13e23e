"""Batches whose rows are read and masked together are those made row by row, in every bit."""

import functools
import pickle

import numpy as np
import pytest
import torch

from fairseq_xling.data.codeswitch import CodeSwitch, make_lexicon
from fairseq_xling.data.example import Vocabulary, side_of
from fairseq_xling.data.folder import SEP
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.mmap import TokenFile, write_items
from fairseq_xling.data.plan import BatchSpec, Feed
from fairseq_xling.data.sources import Pairs, SegmentPairs, Sentences, Stream
from fairseq_xling.data.unpadded import unpadded_layout
from fairseq_xling.objectives import objectives
from fairseq_xling.objectives.cdlm import CrossLingualLM
from fairseq_xling.objectives.mlm import MaskedLM
from tests import row_by_row

SEED, COUNT = 2**63 + 11, 90
SIZES, NUMBERS = {"en": 500, "de": 480}, {"en": 0, "de": 1}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Sentences of no word to 40, with specials among them; links, some of several for a word."""
    folder, rng = tmp_path_factory.mktemp("text"), np.random.default_rng(3)
    sizes = np.clip(rng.geometric(0.12, (2, COUNT)), 1, 41)
    sizes[:, :3] = [[1, 1, 41], [1, 41, 1]]
    items = {
        "en": [np.append(rng.integers(3, 500, n - 1), SEP) for n in sizes[0]],
        "de": [np.append(rng.integers(3, 480, n - 1), SEP) for n in sizes[1]],
        "order": [rng.integers(0, n + 1, m) for n, m in sizes.T],
        "further": [rng.integers(0, n + 1, m * rng.integers(0, 4)) for n, m in sizes.T],
    }
    for name, arrays in items.items():
        write_items(folder / name, arrays, np.dtype("<u2"))
    return {name: TokenFile(folder / name) for name in items}


@pytest.fixture
def sources(files, fake_source):
    """By what objectives read, all kinds of sources; ``longest`` cuts rows."""

    def make(longest):
        sides, pair = (files["en"], files["de"]), ("en", "de")
        linked = Pairs(*sides, pair, longest, files["order"])
        several = Pairs(*sides, pair, longest, files["order"], files["further"])
        plain = Pairs(*sides, pair, longest)
        linked.name, plain.name = "linked", "plain"
        return {
            "mono": [
                Sentences(files["en"], "en", longest),
                Stream(files["de"], "de", longest),
                fake_source(COUNT, "en", longest=longest),  # reads one row at a time
            ],
            "parallel": [several, linked, plain],
            "segments": [SegmentPairs(files["en"], "en", longest)],
        }

    return make


@pytest.fixture
def dataset_of(sources, options):
    """A dataset of all sources of each of some objectives, given by class."""

    def make(classes, longest=17, layout=None, transforms=(), **changes):
        cfg = options(**{"mask_prob": 0.4, "random_token": 0.3, **changes})
        own = {lang: np.arange(6, size, 7) for lang, size in SIZES.items()}
        made = [cls(cfg, Vocabulary(SIZES, NUMBERS, own)) for cls in classes]
        feeds = [
            Feed(one, source, 1.0)
            for one in made
            for source in sources(longest)[one.reads]
            if source.name != "plain" or not one.needs_order
        ]
        ids = {cls.name: number for number, cls in enumerate(classes)}
        if layout is not None:
            layout = functools.partial(unpadded_layout, null=layout)
        return BatchDataset(feeds, ids, SEED, transforms, layout)

    return make


def specs(dataset, mixed=False):
    """Batches of one row to many, of each feed alone or of all together, with large counters."""
    rng = np.random.default_rng(7)
    for feed in [None] if mixed else range(len(dataset.feeds)):
        for size in (1, 2, 40):
            every = rng.integers(0, len(dataset.feeds), size) if mixed else None
            feeds = every if mixed else np.full(size, feed)
            passes = [1 + 2 * dataset.feeds[n].source.renews for n in feeds]
            most = [len(dataset.feeds[n].source) for n in feeds] * np.array(passes)
            yield BatchSpec(feeds, rng.integers(0, most), rng.integers(0, 2**40, size))


def assert_same(ours, slow, name="batch"):
    assert type(ours) is type(slow), name
    if isinstance(ours, dict):
        assert list(ours) == list(slow), name
        for key in ours:
            assert_same(ours[key], slow[key], f"{name}.{key}")
    elif isinstance(ours, torch.Tensor):
        assert (ours.dtype, ours.shape) == (slow.dtype, slow.shape), name
        assert ours.is_contiguous() and torch.equal(ours, slow), name
    else:
        assert ours == slow, name


def assert_as_row_by_row(dataset, mixed=False, layout=None):
    for spec in specs(dataset, mixed):
        assert_same(dataset[spec], row_by_row.batch(dataset, spec, layout))


LAYOUTS = {"mlm": (False, True), "tlm": (False, True), "brlm-attn": (False, True)}


def test_every_objective_has_a_slow_way():
    assert set(row_by_row.EXAMPLES) == set(objectives)


@pytest.mark.parametrize("longest", [6, 17, 200])
@pytest.mark.parametrize("name", list(objectives))
def test_one_feed_at_a_time(dataset_of, name, longest):
    assert_as_row_by_row(dataset_of([objectives[name]], longest))


@pytest.mark.parametrize("changes", [{"random_within_language": True}, {"mask_prob": 0.0}])
@pytest.mark.parametrize("name", ["mlm", "tlm"])
def test_other_masks(dataset_of, name, changes):
    assert_as_row_by_row(dataset_of([objectives[name]], **changes))


@pytest.mark.parametrize(
    ("name", "null"),
    [(n, null) for n in objectives for null in LAYOUTS.get(n, (True,))],
)
def test_with_the_layout_of_real_tokens(dataset_of, name, null):
    assert_as_row_by_row(dataset_of([objectives[name]], layout=null), layout=null)


@pytest.mark.parametrize("null", [None, True])
def test_languages_and_objectives_mixed_in_a_batch(dataset_of, null):
    dataset = dataset_of([objectives[name] for name in objectives], layout=null)
    assert_as_row_by_row(dataset, mixed=True, layout=null)


def test_after_words_were_switched(dataset_of):
    entries = [((word,), [[(word + 1, 7, 8), 1.0, "de"]]) for word in range(5, 400, 2)]
    begins = np.ones(500, dtype=bool)
    switch = CodeSwitch({"en": make_lexicon(entries)}, begins, 0.5, 0.4, 12)
    dataset = dataset_of([MaskedLM, objectives["nsp"]], 12, transforms=[switch, switch])
    assert_as_row_by_row(dataset)
    assert_as_row_by_row(dataset, mixed=True)


def test_in_another_process(dataset_of):
    dataset = dataset_of([objectives[name] for name in objectives])
    copy = pickle.loads(pickle.dumps(dataset))
    for spec in specs(dataset):
        assert_same(copy[spec], dataset[spec])


# ---- objectives from outside


class Chosen(MaskedLM):
    """Masks by its own choice."""

    name = "chosen"

    def choose(self, tokens, rng):
        return rng.random(len(tokens)) < 0.5


class Called(CrossLingualLM):
    """Adds to what its parent makes."""

    name = "called"

    def __call__(self, row, rng):
        example = super().__call__(row, rng)
        example.extra["drawn"] = rng.integers(0, 9, 3, dtype=np.int32)  # leaves half a number
        return example


@pytest.mark.parametrize("cls", [Chosen, Called])
def test_what_a_subclass_overrides_counts(dataset_of, monkeypatch, cls):
    def alone(objective, row, rng):
        example = cls.__call__(objective, row, rng)
        fields = ("src", "tgt", "order", "extra", "further")
        return tuple(getattr(example, name) for name in fields)

    monkeypatch.setitem(row_by_row.EXAMPLES, cls.name, alone)
    assert_as_row_by_row(dataset_of([cls]))
    assert_as_row_by_row(dataset_of([cls, MaskedLM]), mixed=True)
    assert cls.examples_of is not cls.__mro__[1].examples_of


def test_a_row_may_be_changed_without_changing_another(dataset_of):
    """As when an objective from outside writes into what it was given."""
    for feed in dataset_of([MaskedLM, CrossLingualLM]).feeds:
        example = feed.objective(feed.source[2], np.random.default_rng(0))
        example.tgt["tokens"][:] = 7
        again = feed.objective(feed.source[2], np.random.default_rng(0))
        sides = [side for side in (feed.source[2].source, feed.source[2].target) if side]
        expected = side_of(sides[-1].tokens, NUMBERS[sides[-1].lang])
        assert again.tgt["tokens"].tolist() == expected["tokens"].tolist()
