"""Batches, and the epochs that a trainer asks for."""

import collections
import gc
import hashlib
import io
import itertools
import random
import weakref

import numpy as np
import pytest
import torch

from fairseq_xling.core.errors import UserError
from fairseq_xling.data import iterator
from fairseq_xling.data.iterator import EvaluationIterator, TrainingIterator
from fairseq_xling.data.plan import BatchSpec, Limits, Plan, in_order


def spec(feed, indices, counters=None):
    feeds = np.broadcast_to(np.array(feed), (len(indices),))
    return BatchSpec(feeds, np.array(indices), np.array(counters or indices))


def tokens(batch, side="src"):
    return batch["net_input"][side]["tokens"].tolist()


def test_the_global_generators_neither_matter_nor_move(make_dataset):
    dataset = make_dataset("mlm")
    results = []

    def states():
        return random.getstate(), *map(str, (np.random.get_state(), torch.get_rng_state().tolist()))

    for seed in (0, 1):
        for start in (random.seed, np.random.seed, torch.manual_seed):
            start(seed)
        before = states()
        results.append(tokens(dataset[spec(0, list(range(30)))]))
        assert states() == before
    assert results[0] == results[1]


def test_examples_are_never_longer_than_their_objective_says(make_dataset):
    dataset = make_dataset("mlm", "tlm", max_positions=8)
    for feed in dataset.feeds:
        index = np.arange(len(feed.source))
        bounds = feed.objective.max_length(feed.source.lengths(index))
        for i, bound in zip(index, bounds, strict=True):
            example = feed.objective(feed.source[i], np.random.default_rng(0))
            assert len(example.src["tokens"]) <= bound


LIMITS = Limits(150, None)
WINDOW = 32


@pytest.fixture
def training(make_dataset):
    """``training(epoch=..., shard=...)`` is a fresh iterator, as after a restart."""

    defaults = {"epoch": 1, "groups": 5, "update_freq": 1, "num_shards": 1, "shard": 0}

    def make(*names, mix=False, limits=LIMITS, num_workers=0, **changes):
        how = {name: changes.pop(name, value) for name, value in defaults.items()}
        dataset = make_dataset(*names, **changes)
        plan = Plan(dataset.feeds, limits, dataset.seed, mix, window=WINDOW)
        how |= {"groups_done": 0, "num_workers": num_workers}
        return TrainingIterator(dataset, plan, plan.start(), **how)

    return make


def content(batch):
    """All that a batch holds, as one string that is equal for equal batches."""
    if isinstance(batch, torch.Tensor):
        return f"{batch.dtype}{batch.tolist()}"
    if isinstance(batch, dict):
        return str({name: content(value) for name, value in batch.items()})
    return repr(batch)


def digest(batch):
    return hashlib.sha256(content(batch).encode()).hexdigest()[:12]


def epoch(iterator):
    return [digest(batch) for batch in iterator.next_epoch_itr()]


def epochs(iterator, count):
    return [batch for _ in range(count) for batch in epoch(iterator)]


def read(iterator):
    return list(iterator.next_epoch_itr())


def taken(iterator, count):
    """The next ``count`` batches of an epoch that is then left."""
    return list(itertools.islice(iterator.next_epoch_itr(), count))


def languages(batch):
    return set(batch["net_input"]["tgt"]["langs"][:, 0].tolist())


def rows_of(batch):
    """(language, row) -> the tokens that the model reads, without padding."""
    src, langs = batch["net_input"]["src"]["tokens"], batch["net_input"]["tgt"]["langs"][:, 0]
    return {
        (lang, row): [token for token in tokens if token != 1]
        for lang, row, tokens in zip(
            langs.tolist(), batch["id"].tolist(), src.tolist(), strict=True
        )
    }


# ---- one training, uninterrupted


def test_an_epoch_is_a_number_of_steps_and_the_next_goes_on(training):
    one, long = training(groups=5), training(groups=15)
    assert len(one) == 5
    assert epochs(one, 3) == epoch(long)


def test_epochs_are_counted_as_fairseq_expects(training):
    iterator = training(groups=3)
    assert not iterator.end_of_epoch()
    assert (iterator.epoch, iterator.next_epoch_idx, iterator.iterations_in_epoch) == (1, 1, 0)
    batches = iterator.next_epoch_itr()
    next(batches)
    assert (iterator.next_epoch_idx, iterator.iterations_in_epoch) == (1, 1)
    assert not iterator.end_of_epoch()
    list(batches)
    assert iterator.end_of_epoch() and iterator.next_epoch_idx == 2
    iterator.next_epoch_itr()
    assert (iterator.epoch, iterator.next_epoch_idx, iterator.iterations_in_epoch) == (2, 2, 0)


def test_the_first_batch_can_be_looked_at_without_taking_it(training):
    iterator, untouched = training(), training()
    expected = epoch(untouched)
    assert digest(iterator.first_batch) == digest(iterator.first_batch) == expected[0]
    assert epoch(iterator) == expected


@pytest.mark.parametrize("num_workers", [0, 1])
def test_loader_workers_stop_as_soon_as_their_iterator_is_dropped(training, num_workers):
    iterator = training(num_workers=num_workers)
    next(iterator.next_epoch_itr())
    dropped = weakref.ref(iterator)
    gc.disable()  # a cycle would leave it to the collector, and workers to a timeout
    try:
        del iterator
        assert dropped() is None
    finally:
        gc.enable()


def test_loader_workers_change_nothing(training):
    expected = epochs(training("mlm", "tlm"), 2)
    assert epochs(training("mlm", "tlm", num_workers=2), 2) == expected


def test_a_batch_from_the_loader_is_the_one_that_the_dataset_made(training):
    batch = read(training(num_workers=1))[0]
    assert digest(batch) == digest(training().first_batch)
    assert type(batch["net_input"]["pair"]) is tuple


# ---- several workers


@pytest.mark.parametrize("names", [("mlm",), ("mlm", "tlm")])
def test_two_shards_see_what_one_process_sees_in_two_micro_batches(training, names):
    alone = epochs(training(*names, update_freq=2), 2)
    both = [epochs(training(*names, num_shards=2, shard=shard), 2) for shard in (0, 1)]
    together = [batch for step in zip(*both, strict=True) for batch in step]
    assert together == alone


def test_shards_with_micro_batches_deal_out_the_same_groups(training):
    alone = epoch(training(update_freq=4))
    both = [epoch(training(update_freq=2, num_shards=2, shard=shard)) for shard in (0, 1)]
    for step in range(5):
        group = [batch for shard in both for batch in shard[2 * step : 2 * step + 2]]
        assert sorted(group) == sorted(alone[4 * step : 4 * step + 4])


# ---- killed and resumed


def resumed(training, state, **changes):
    iterator = training(epoch=state["epoch"], **changes)
    iterator.load_state_dict(state)
    return iterator


@pytest.mark.parametrize(
    ("steps", "num_workers", "epochs_before"),
    [
        *itertools.product((0, 1, 3, 4, 5), [0], (0, 1, 2)),
        *itertools.product((3, 5), [2], [1]),
        *(
            pytest.param(*case, marks=pytest.mark.slow)  # each epoch begins its processes anew
            for case in itertools.product((3, 5), [2], (0, 2))
        ),
    ],
)
def test_a_resumed_training_sees_exactly_the_remaining_batches(
    training, steps, num_workers, epochs_before
):
    settings = {"groups": 5, "update_freq": 2, "num_workers": num_workers}
    whole = epochs(training(groups=5, update_freq=2), 4)
    killed = training(**settings)
    epochs(killed, epochs_before)
    taken(killed, 2 * steps)
    state = torch.load(saved(killed.state_dict()), weights_only=True)
    done = 10 * epochs_before + 2 * steps
    again = resumed(training, state, **settings)
    rest = epoch(again)
    while done + len(rest) < 40:
        rest += epoch(again)
    assert rest == whole[done:]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"groups": 10**15}, r"groups` must lie in \[0, 1048576\], got 10{15}; `--reset-data"),
        ({"iterations_in_epoch": 12}, r"groups` must lie in \[6, 1048576\], got 5"),
        ({"groups_done": None}, "groups_done` is missing"),
        ({"num_shards": None}, "num_shards` is missing"),
    ],
)
def test_a_place_that_no_training_was_at_is_refused_at_once(training, changes, rule):
    state = training(groups=5, update_freq=2).state_dict() | changes
    state = {name: value for name, value in state.items() if value is not None}
    with pytest.raises(UserError, match=rf"the checkpoint: `extra_state\.train_iterator\.{rule}"):
        resumed(training, state, groups=5, update_freq=2)


def saved(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return file


def test_a_resumed_training_can_be_killed_and_resumed_again(training):
    whole = epochs(training(groups=6), 2)
    state, seen = None, []
    for steps in (2, 1, 2):
        iterator = resumed(training, state, groups=6) if state else training(groups=6)
        seen += map(digest, taken(iterator, steps))
        state = iterator.state_dict()
    assert seen + epochs(resumed(training, state, groups=6), 2) == whole


def test_two_processes_take_over_from_one_and_share_its_steps(training):
    whole = epochs(training(groups=6, update_freq=2), 2)
    killed = training(groups=6, update_freq=2)
    taken(killed, 2 * 4)
    how = {"state": killed.state_dict(), "groups": 6, "num_shards": 2}
    parts = [epochs(resumed(training, shard=shard, **how), 2) for shard in (0, 1)]
    assert [batch for step in zip(*parts, strict=True) for batch in step] == whole[8:]


@pytest.mark.parametrize("update_freq", [1, 4])
def test_larger_or_smaller_steps_go_on_where_each_language_was_left(training, update_freq):
    killed = training(groups=6, update_freq=2)
    seen = taken(killed, 2 * 4)
    rest = read(resumed(training, killed.state_dict(), groups=6, update_freq=update_freq))
    assert len(rest) == 2 * update_freq
    whole = read(training(groups=100))
    for lang in ({0}, {1}):
        mine = [digest(batch) for batch in seen + rest if languages(batch) == lang]
        assert mine == [digest(b) for b in whole if languages(b) == lang][: len(mine)]


def test_an_epoch_shortened_by_a_change_of_workers_stays_so_when_it_is_resumed_again(training):
    killed = training(groups=6, num_shards=2)
    taken(killed, 4)
    second = resumed(training, killed.state_dict(), groups=6, update_freq=2)
    assert len(second) == 4  # 2 steps of 2
    first_step = [digest(batch) for batch in taken(second, 2)]
    third = resumed(training, second.state_dict(), groups=6, update_freq=2)
    rest = epoch(third)
    whole = epoch(training(groups=6, update_freq=2))
    assert first_step + rest == whole[8:]
    assert len(epoch(third)) == 12  # and the epoch after it is whole again


@pytest.mark.parametrize("mix", [False, True])
def test_a_checkpoint_of_other_data_starts_its_order_anew_and_says_so(training, mix, caplog):
    iterator = training("mlm", mix=mix)
    epoch(iterator)
    with caplog.at_level("WARNING"):
        other = training("mlm", "tlm", mix=mix, epoch=2)
        other.load_state_dict(iterator.state_dict())
    assert "made with other data" in caplog.text
    assert epoch(other) == epoch(training("mlm", "tlm", mix=mix, epoch=2))


# ---- validation and test


def evaluation(dataset, limits=LIMITS, num_shards=1, shard=0, num_workers=0):
    specs = list(in_order(dataset.feeds, limits, WINDOW))
    return EvaluationIterator(
        dataset, specs, num_shards=num_shards, shard=shard, num_workers=num_workers
    )


@pytest.mark.parametrize("num_shards", [1, 2, 3, 7])
def test_every_row_is_evaluated_once_whatever_the_number_of_workers(make_dataset, num_shards):
    dataset = make_dataset(split="valid")
    parts = [
        read(evaluation(dataset, num_shards=num_shards, shard=shard)) for shard in range(num_shards)
    ]
    assert len({len(part) for part in parts}) == 1  # workers meet in every step
    rows = [row for part in parts for batch in part if batch is not None for row in rows_of(batch)]
    assert sorted(rows) == sorted((lang, i) for lang in (0, 1) for i in range(20))


def test_evaluation_is_the_same_every_time_with_and_without_loader_workers(make_dataset):
    iterator = evaluation(make_dataset(split="valid"))
    first = epoch(iterator)
    assert epoch(iterator) == first == epoch(evaluation(make_dataset(split="valid"), num_workers=2))


def test_masks_of_evaluation_do_not_depend_on_the_batch_size(make_dataset):
    dataset, seen = make_dataset(split="valid"), []
    for limits in (Limits(40, None), Limits(None, 1), Limits(None, 50)):
        batches = map(rows_of, read(evaluation(dataset, limits)))
        seen.append(dict(collections.ChainMap(*batches)))
    assert len(seen[0]) == 40 and seen[0] == seen[1] == seen[2]


def test_an_evaluation_can_be_asked_where_it_is(make_dataset):
    iterator = evaluation(make_dataset(split="valid"))
    assert (iterator.iterations_in_epoch, iterator.next_epoch_idx) == (0, 1)
    assert epoch(iterator)[0] == digest(iterator.first_batch)
    assert iterator.end_of_epoch() and iterator.iterations_in_epoch == len(iterator)
    iterator.load_state_dict(iterator.state_dict() | {"epoch": 4})
    assert iterator.next_epoch_idx == 4


def test_no_more_loader_processes_than_processors_or_batches(monkeypatch, caplog):
    monkeypatch.setattr(iterator, "processors", lambda: 4)
    assert [iterator.loader_processes(n, 100) for n in (0, 1, 4)] == [0, 1, 4]
    assert [iterator.loader_processes(3, n) for n in (0, 2, 3)] == [0, 0, 3]
    assert not caplog.records
    assert iterator.loader_processes(64, 100) == 4
    line = "`--num-workers` 64 is more than the 4 processors of this machine; 4 are started"
    assert caplog.messages == [line]
