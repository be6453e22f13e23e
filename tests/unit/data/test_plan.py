import tracemalloc

import numpy as np
import pytest
from scipy.stats import chisquare

from fairseq_xling.data.plan import Cursor, Limits, Plan, cut, feed_salt, in_order
from fairseq_xling.data.sampling import smoothed_shares


def take(plan, count, size=1, first=0, cursors=None):
    return list(plan.groups(plan.start() if cursors is None else cursors, first, count, size))


def as_lists(groups):
    return [
        [(s.feeds.tolist(), s.indices.tolist(), s.counters.tolist()) for s in g] for g in groups
    ]


def rows_of(groups, feed=0):
    return [i for g in groups for s in g for i in s.indices[s.feeds == feed].tolist()]


def counted(groups):
    """The row at each counter."""
    specs = [spec for group in groups for spec in group]
    return {
        c: i for s in specs for c, i in zip(s.counters.tolist(), s.indices.tolist(), strict=True)
    }


# ---- cutting a window into batches


def slow_cut(lengths, limits):
    """Row by row: open a new batch when the padded size or the number of rows would pass."""
    batches, batch = [], []
    for row in sorted(range(len(lengths)), key=lambda row: (lengths[row], row)):
        longer = [*batch, row]
        padded = len(longer) * max(lengths[r] for r in longer)
        too_wide = limits.tokens is not None and padded > limits.tokens
        too_many = limits.rows is not None and len(longer) > limits.rows
        if batch and (too_wide or too_many):
            batches.append(batch)
            batch = [row]
        else:
            batch = longer
    return [*batches, batch] if batch else batches


@pytest.mark.parametrize("tokens", [None, 1, 7, 40, 1000])
@pytest.mark.parametrize("rows", [None, 1, 3, 50])
def test_batches_are_those_of_a_row_by_row_greedy_search(tokens, rows):
    limits = Limits(tokens, rows)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 30, 8 * seed)  # nothing, first
        found = [batch.tolist() for batch in cut(lengths, limits)]
        assert found == slow_cut(lengths.tolist(), limits)


# ---- the order of rows


def test_within_a_pass_every_row_comes_once_and_the_next_pass_has_another_order(fake_feeds):
    feeds = fake_feeds(en=(500, 1.0))
    plan = Plan(feeds, Limits(200, None), seed=3, window=128)
    # Windows are reordered inside, so pass k is what lies in windows; collect by counter instead.
    by_counter = counted(take(plan, 400))
    assert len(by_counter) > 1500
    passes = [[by_counter[c] for c in range(500 * p, 500 * (p + 1))] for p in range(2)]
    assert sorted(passes[0]) == sorted(passes[1]) == list(range(500))
    assert sum(a == b for a, b in zip(*passes, strict=True)) < 10


def test_rows_that_each_pass_renews_are_numbered_by_row_and_pass(fake_feeds):
    def drawn(renews):
        feeds = fake_feeds(en=(40, 1.0))
        feeds[0].source.renews = renews
        feeds[0].source.lengths = lambda indices: np.full(len(indices), 3)
        return counted(take(Plan(feeds, Limits(None, 8), seed=3, window=16), 20))

    plain, renewed = drawn(False), drawn(True)
    assert max(plain) > 120
    assert renewed == {counter: row + counter // 40 * 40 for counter, row in plain.items()}


def test_counters_number_the_draws_so_that_no_two_are_alike(fake_feeds):
    plan = Plan(fake_feeds(en=(50, 1.0)), Limits(None, 7), seed=1, window=20)
    counters = [c for g in take(plan, 60) for s in g for c in s.counters.tolist()]
    assert len(counters) == len(set(counters))
    assert max(counters) - len(counters) < 20  # none is left out but in the window at work


def test_batches_of_a_window_do_not_come_by_length(fake_feeds):
    plan = Plan(fake_feeds(en=(4000, 1.0)), Limits(600, None), seed=1, window=4000)
    source = plan.feeds[0].source
    means = [source.lengths(g[0].indices).mean() for g in take(plan, 60)]
    assert abs(np.corrcoef(np.arange(60), means)[0, 1]) < 0.4


def test_the_seed_decides_the_order_and_nothing_else_does(fake_feeds):
    def order(seed):
        plan = Plan(fake_feeds(en=(500, 0.5), de=(500, 0.5)), Limits(200, None), seed, window=128)
        return as_lists(take(plan, 50))

    first = order(1)
    np.random.seed(0)
    np.random.random(7)
    assert order(1) == first != order(2)


def test_planning_needs_the_same_memory_for_any_corpus(fake_feeds):
    def peak(size):
        plan = Plan(fake_feeds(en=(size, 1.0)), Limits(1000, None), seed=1, window=4096)
        tracemalloc.start()
        for _ in plan.groups(plan.start(), 0, 30, 2):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10_000)
    assert peak(100_000_000) < 1.2 * peak(10_000)


# ---- lanes: which language when


def lane_counts(plan, groups):
    return np.bincount([g[0].feeds[0] for g in take(plan, groups)], minlength=len(plan.feeds))


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
def test_languages_are_drawn_by_their_smoothed_shares(fake_feeds, alpha):
    shares = smoothed_shares({"en": 900, "de": 100}, alpha)
    feeds = fake_feeds(en=(900, shares["en"]), de=(100, shares["de"]))
    counts = lane_counts(Plan(feeds, Limits(None, 50), seed=5, window=200), 1500)
    assert counts.sum() == 1500
    assert chisquare(counts, 1500 * np.array(list(shares.values()))).pvalue > 1e-3
    for other in (0.0, 0.7, 1.0):
        if other != alpha:  # the test can tell one alpha from another
            wrong = 1500 * np.array(list(smoothed_shares({"en": 900, "de": 100}, other).values()))
            assert chisquare(counts, wrong).pvalue < 1e-9


def test_all_batches_of_a_group_come_from_one_language(fake_feeds):
    plan = Plan(fake_feeds(en=(300, 0.6), de=(80, 0.4)), Limits(None, 9), seed=1, window=50)
    groups = take(plan, 200, size=3)
    assert {len(group) for group in groups} == {3}
    kinds = [{n for spec in group for n in spec.feeds.tolist()} for group in groups]
    assert all(len(kind) == 1 for kind in kinds) and {0} in kinds and {1} in kinds


def turns(plan, groups, **kwargs):
    return [int(g[0].feeds[0]) for g in take(plan, groups, **kwargs)]


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5), (0.75, 0.25), (0.6, 0.4), (0.5, 0.3, 0.2), (1 / 3,) * 3]
)
def test_turns_keep_to_the_shares_at_every_time(fake_feeds, shares):
    sizes = {"abc"[n]: (300, share) for n, share in enumerate(shares)}

    def furthest(**how):
        """The most turns that anybody is ever behind or ahead."""
        plan = Plan(fake_feeds(**sizes), Limits(None, 9), seed=1, window=50, **how)
        order = np.array(turns(plan, 600))
        due = np.arange(1, 601)
        return max(abs(np.cumsum(order == n) - x * due).max() for n, x in enumerate(shares))

    assert furthest(alternate=True) <= 4 < 8 < furthest()


def test_objectives_take_turns_whatever_the_languages_of_one_of_them(fake_feeds):
    """CdLM* of TreLM: CdLM and MLM alternate, though MLM has two languages."""
    feeds = fake_feeds(pairs=(300, 1.0), en=(300, 0.6), de=(300, 0.4))
    plan = Plan(feeds, Limits(None, 9), seed=1, alternate=True, window=50)
    order = turns(plan, 200)
    assert [number == 0 for number in order] == [True, False] * 100
    assert 55 <= order.count(1) <= 65


def test_turns_do_not_depend_on_the_seed_and_go_on_where_they_stopped(fake_feeds):
    def plan(seed):
        feeds = fake_feeds(en=(300, 0.5), de=(300, 0.3), fr=(300, 0.2))
        return Plan(feeds, Limits(None, 9), seed, alternate=True, window=50)

    whole = turns(plan(1), 40)
    assert turns(plan(2), 40) == whole
    assert turns(plan(1), 25, first=15) == whole[15:]


@pytest.mark.parametrize("silent", ["en", "de", "fr"])
@pytest.mark.parametrize("alternate", [False, True])
def test_whoever_has_no_share_gets_no_turn(fake_feeds, silent, alternate):
    sizes = {lang: (30, 0.0 if lang == silent else 0.5) for lang in ("en", "de", "fr")}
    plan = Plan(fake_feeds(**sizes), Limits(None, 5), seed=1, alternate=alternate)
    assert ["en", "de", "fr"].index(silent) not in turns(plan, 64)


def test_mixed_batches_hold_the_feeds_in_their_shares(fake_feeds):
    feeds = fake_feeds(en=(4000, 0.75), de=(1000, 0.25))
    plan = Plan(feeds, Limits(None, 100), seed=2, mix=True, window=1000)
    groups = take(plan, 100)
    drawn = np.bincount([n for g in groups for s in g for n in s.feeds.tolist()], minlength=2)
    assert chisquare(drawn, drawn.sum() * np.array([0.75, 0.25])).pvalue > 1e-3
    assert all(len(set(g[0].feeds.tolist())) == 2 for g in groups)


def test_feeds_mix_also_where_all_rows_are_equally_long(fake_feeds):
    feeds = fake_feeds(en=(4000, 0.5), de=(4000, 0.5))
    for feed in feeds:
        feed.source.shortest = feed.source.longest = 9
    plan = Plan(feeds, Limits(None, 100), seed=2, mix=True, window=2000)
    english = [(g[0].feeds == 0).mean() for g in take(plan, 60)]
    assert min(english) > 0.3 and max(english) < 0.7


# ---- going on where a training stopped


@pytest.mark.parametrize("mix", [False, True])
@pytest.mark.parametrize("stop", [0, 1, 7, 8, 30, 55])
def test_saved_cursors_continue_exactly(fake_feeds, mix, stop):
    def plan():
        feeds = fake_feeds(en=(300, 0.6), de=(90, 0.4))
        return Plan(feeds, Limits(150, None), seed=1, mix=mix, window=64)

    whole = as_lists(take(plan(), 60, size=2))
    cursors = plan().start()
    take(plan(), stop, size=2, cursors=cursors)
    saved = [Cursor(**cursor.state()) for cursor in cursors]
    assert as_lists(take(plan(), 60 - stop, 2, stop, saved)) == whole[stop:]


def test_a_lane_gives_the_same_batches_however_they_are_grouped(fake_feeds):
    def flat(size):
        plan = Plan(fake_feeds(en=(300, 1.0)), Limits(150, None), seed=1, window=64)
        return [spec for group in as_lists(take(plan, 60 // size, size)) for spec in group]

    assert flat(1) == flat(2) == flat(5)


def test_cursors_of_smaller_batches_go_on_with_larger_ones(fake_feeds):
    feeds = fake_feeds(en=(300, 1.0))
    cursors = Plan(feeds, Limits(None, 2), 1, window=100).start()
    take(Plan(feeds, Limits(None, 2), 1, window=100), 40, cursors=cursors)
    larger = Plan(feeds, Limits(None, 25), 1, window=100)  # 4 batches a window, 40 were taken
    rows = rows_of(take(larger, 8, first=40, cursors=cursors))
    assert len(set(rows)) == 200


# ---- sizes and other splits


def test_a_pass_is_about_as_many_batches_as_it_says(fake_feeds):
    for limits in (Limits(None, 20), Limits(600, None), Limits(600, 20)):
        plan = Plan(fake_feeds(en=(3000, 1.0)), limits, seed=1, window=1000)
        said = plan.batches_per_pass()
        rows = sum(len(g[0].indices) for g in take(plan, said))
        assert 0.6 * 3000 < rows < 1.4 * 3000
    assert Plan(fake_feeds(en=(3, 1.0)), Limits(9999, None), seed=1).batches_per_pass() == 1


def test_validation_reads_every_row_once_with_its_index_as_counter(fake_feeds):
    feeds = fake_feeds(en=(230, 0.5), de=(70, 0.5))
    specs = list(in_order(feeds, Limits(300, None), window=100))
    assert [sorted(rows_of([specs], feed)) for feed in (0, 1)] == [[*range(230)], [*range(70)]]
    for spec in specs:
        assert (spec.counters == spec.indices).all() and len(set(spec.feeds)) == 1
        lengths = feeds[spec.feeds[0]].source.lengths(spec.indices)
        assert len(lengths) * lengths.max() <= 300


def test_feeds_of_different_names_are_shuffled_differently(fake_feeds):
    feeds = fake_feeds(en=(500, 0.5), de=(500, 0.5))
    assert [feed.key for feed in feeds] == ["reader:en", "reader:de"]
    assert feed_salt("reader:en") != feed_salt("reader:de")
    plan = Plan(feeds, Limits(None, 500), seed=1, window=500)
    seen = {}
    for (spec,) in take(plan, 30):
        seen.setdefault(int(spec.feeds[0]), spec.indices[np.argsort(spec.counters)])
    assert (seen[0] == seen[1]).sum() < 10
