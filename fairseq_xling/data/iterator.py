"""The epoch iterators that fairseq's trainer asks a task for.

fairseq's own keeps every batch of an epoch in memory, reuses loader workers (so masks would freeze
after the first epoch) and cannot ensure the same language for all workers in a step. These read
from a `Plan` instead: an epoch is a number of optimiser steps, and its state is a few counters.
"""

import copy
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from fairseq.data import FairseqDataset
from fairseq.data.iterators import CountingIterator, EpochBatchIterating

from fairseq_xling.checkpoints import origin
from fairseq_xling.core.errors import UserError
from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Examples
from fairseq_xling.data.plan import BatchSpec, Cursor, Feed, Plan, feed_salt
from fairseq_xling.data.sampling import mix
from fairseq_xling.data.sources import Row
from fairseq_xling.engine.devices import processors

# Changes the rows of one batch before the objectives see them (code-switching, noise).
BatchTransform = Callable[[list[Row], np.random.Generator], list[Row]]


class BatchDataset(FairseqDataset):
    """``dataset[spec]`` is a finished batch; it has no state, so any worker can build any batch.

    Args:
        feeds: what a specification's feed numbers mean.
        objective_ids: the number of each objective's name in the criterion's logs.
        seed: determines a row's masks, together with its feed and counter.
        transforms: applied to the rows of a batch, in order.
        layout: as of `collate`.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        objective_ids: dict[str, int],
        seed: int,
        transforms: Sequence[BatchTransform] = (),
        layout: Callable[[Examples], dict[str, Any]] | None = None,
    ):
        self.feeds, self.seed, self.transforms = list(feeds), seed, list(transforms)
        self._layout = layout
        self._objective_ids = [objective_ids[feed.objective.name] for feed in feeds]
        self._salts = [feed_salt(feed.key) for feed in feeds]

    def __len__(self) -> int:
        return sum(len(feed.source) for feed in self.feeds)

    def __getitem__(self, spec: BatchSpec | None) -> dict[str, Any] | None:
        if spec is None:
            return None
        numbers = spec.feeds.tolist()
        mine = {n: spec.feeds == n for n in set(numbers)}
        # Those of one feed are read, and turned into examples, together.
        read = {n: iter(self.feeds[n].source.rows(spec.indices[mine[n]])) for n in mine}
        rows = [next(read[n]) for n in numbers]
        for place, transform in enumerate(self.transforms):
            rngs = self._generators(place + 1, numbers[0], spec.counters[:1])
            rows = transform(rows, next(rngs))
        made = {}
        for n in mine:
            own = [row for row, number in zip(rows, numbers, strict=True) if number == n]
            rngs = self._generators(0, n, spec.counters[mine[n]])
            made[n] = self.feeds[n].objective.examples_of(own, rngs)
        pairs = {_pair(self.feeds[n]) for n in mine}
        return collate(
            _in_order(made, numbers),
            [self._objective_ids[n] for n in numbers],
            spec.indices.tolist(),
            pairs.pop() if len(pairs) == 1 else None,
            self._layout,
        )

    def _generators(
        self, use: int, feed: int, counters: np.ndarray
    ) -> Iterator[np.random.Generator]:
        """The generator of each of ``counters``; it serves until the next is taken."""
        # All are one that begins anew, as to make it takes ten times as long. Philox hashes no key.
        philox = np.random.Philox(key=mix(self.seed, use, self._salts[feed]))
        rng, state = np.random.Generator(philox), philox.state
        for counter in counters.tolist():
            state["state"]["key"][1] = counter
            philox.state = state
            yield rng


def _in_order(made: dict[int, Examples], numbers: Sequence[int]) -> Examples:
    """Of the examples ``made`` by feeds, in each row the next of the feed with its number."""
    if len(made) == 1:
        return made[numbers[0]]
    each = {n: iter(examples.each()) for n, examples in made.items()}
    return Examples.of([next(each[n]) for n in numbers])


def _pair(feed: Feed) -> tuple[str, str] | None:
    """(source, target) language of a feed's examples, or None where one example has several."""
    if feed.objective.mixes_source_languages:
        return None
    return feed.source.languages[0], feed.source.languages[-1]


logger = logging.getLogger(__name__)

# An epoch may have been started with other data or more workers; but its steps are planned again,
# so that a number in a damaged file must not take for ever.
_FEW_STEPS, _MORE_DATA = 1 << 20, 64


def loader_processes(asked: int, batches: int) -> int:
    """How many processes make so many ``batches``: as many as asked for, at most one for each
    processor; none where each would not have one batch. Batches do not depend on it."""
    cores = processors()
    if asked > cores:
        logger.warning(
            "`--num-workers` %d is more than the %d processors of this machine; %d are started",
            *(asked, cores, cores),
        )
    count = min(asked, cores)
    return count if batches >= count else 0


class _EpochIterator(EpochBatchIterating):
    """Loads the batches of an epoch by processes, whose number is ``num_workers``."""

    dataset: BatchDataset
    num_workers: int
    _itr: CountingIterator | None = None

    def end_of_epoch(self) -> bool:
        return self._itr is not None and not self._itr.has_next()

    def _load(self, specs: Any, start: int = 0) -> CountingIterator:
        loader = torch.utils.data.DataLoader(
            self.dataset,
            batch_size=None,
            sampler=specs,
            num_workers=self.num_workers,
            collate_fn=_as_it_is,
            pin_memory=torch.cuda.is_available(),
        )
        self._itr = CountingIterator(loader, start=start, total=len(self))
        return self._itr


class TrainingIterator(_EpochIterator):
    """Batches of worker ``shard`` of ``num_shards``, epoch by epoch.

    Args:
        dataset: builds a batch from its specification.
        plan: the endless training order.
        cursors: the plan's position at the start of ``epoch``.
        groups_done: optimiser steps before ``epoch``.
        groups: optimiser steps per epoch. (An epoch started with another number of workers is
            resumed for the rest of it.)
        shards: of the data; an epoch reads one, and ``plan`` and ``cursors`` are of that one.
        others: the cursors of other shards that were read before, by their numbers.
        update_freq: batches per worker and step.
    """

    def __init__(
        self,
        dataset: BatchDataset,
        plan: Plan,
        cursors: list[Cursor],
        *,
        epoch: int,
        groups_done: int,
        groups: int,
        update_freq: int,
        num_shards: int,
        shard: int,
        num_workers: int,
        shards: int = 1,
        others: Mapping[int, list[Cursor]] | None = None,
    ):
        self.dataset, self.plan = dataset, plan
        self.shards, self._others = shards, dict(others or {})
        self.epoch = max(epoch, 1)
        self.groups, self._whole = groups, groups
        self.update_freq = update_freq
        self.num_shards, self.shard = num_shards, shard
        self.num_workers = loader_processes(num_workers, groups * update_freq)
        self._cursors, self._groups_done = cursors, groups_done
        self._skip = 0
        self._sampler: _EpochSampler | None = None

    def __len__(self) -> int:
        return self.groups * self.update_freq

    @property
    def first_batch(self) -> Any:
        cursors = copy.deepcopy(self._cursors)
        return self.dataset[next(self.plan.groups(cursors, self._groups_done, 1, 1))[0]]

    @property
    def next_epoch_idx(self) -> int:
        return self.epoch + 1 if self.end_of_epoch() else self.epoch

    @property
    def iterations_in_epoch(self) -> int:
        return self._itr.n if self._itr is not None else self._skip * self.update_freq

    def next_epoch_itr(
        self, shuffle: bool = True, fix_batches_to_gpus: bool = False, set_dataset_epoch=True
    ) -> CountingIterator:
        """Batches of the next epoch, or the rest of one that was loaded from a checkpoint."""
        if self.end_of_epoch():
            self._cursors, self._groups_done = self.after_epoch()
            self.groups = self._whole
            self.epoch += 1
        self._sampler = self._epoch_sampler()
        start, self._skip = self._skip * self.update_freq, 0
        return self._load(self._sampler, start)

    def _epoch_sampler(self) -> "_EpochSampler":
        group = slice(self.shard, self.num_shards * self.update_freq, self.num_shards)
        return _EpochSampler(
            self.plan, self._cursors, self._groups_done, self.groups, group, self._skip
        )

    def after_epoch(self) -> tuple[list[Cursor], int]:
        """The plan's position at the end of this epoch."""
        if self._sampler is None or self._sampler.cursors_after is None:
            self._sampler = self._epoch_sampler()
            for _ in self._sampler:
                pass
        return self._sampler.cursors_after, self._groups_done + self.groups

    @property
    def _number(self) -> int:
        """Of the shard that this epoch reads."""
        return (self.epoch - 1) % self.shards

    def cursors_after(self) -> tuple[dict[int, list[Cursor]], int]:
        """By number of a shard the cursors at which it continues after this epoch, of those that
        were read; and the optimiser steps by then."""
        cursors, groups_done = self.after_epoch()
        return {**self._others, self._number: cursors}, groups_done

    def state_dict(self) -> dict[str, Any]:
        done = self.end_of_epoch()
        cursors, groups_done = self.after_epoch() if done else (self._cursors, self._groups_done)
        state = {
            "version": 2,
            "epoch": self.epoch + 1 if done else self.epoch,
            "iterations_in_epoch": 0 if done else self.iterations_in_epoch,
            "shuffle": True,
            "update_freq": self.update_freq,
            "num_shards": self.num_shards,
            "groups": self._whole if done else self.groups,
            "groups_done": groups_done,
            "cursors": [cursor.state() for cursor in cursors],
        }
        if self.shards > 1:
            read = {**self._others, self._number: cursors}
            states = {str(k): [cursor.state() for cursor in of] for k, of in read.items()}
            state |= {"shards": self.shards, "shard_cursors": states}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from ``state``, also with another number of workers.

        The steps already taken are planned again (not read) as they were planned then.

        Raises:
            UserError: for more steps than an epoch has, and for a missing entry.
        """
        self.epoch = state["epoch"]
        self._itr = self._sampler = None
        cursors = [Cursor(**cursor) for cursor in state.get("cursors", [])]
        if state.get("shards", 1) != self.shards:
            logger.warning("the checkpoint was made with other shards; their order restarts")
            return
        if self.shards > 1:  # the epoch's own among them, also if it is not that of `cursors`
            kept = state.get("shard_cursors", {})
            read = (k for k in range(self.shards) if str(k) in kept)
            self._others = {k: [Cursor(**one) for one in kept[str(k)]] for k in read}
            cursors = self._others.pop(self._number, self.plan.start())
        if not self.plan.fits(cursors):
            logger.warning("the checkpoint was made with other data; its order restarts")
            return
        place = f"{origin()}: `extra_state.train_iterator"
        for name in ("groups", "groups_done", "update_freq", "num_shards"):
            if name not in state:
                raise UserError(f"{place}.{name}` is missing")
        self._cursors, self._groups_done = cursors, state["groups_done"]
        steps = state["iterations_in_epoch"] // state["update_freq"]
        most = max(_FEW_STEPS, _MORE_DATA * self._whole)
        if not steps <= state["groups"] <= most:
            raise UserError(
                f"{place}.groups` must lie in [{steps}, {most}], got {state['groups']}; "
                "`--reset-dataloader` starts the data from the beginning"
            )
        then = (state["num_shards"], state["update_freq"])
        if then == (self.num_shards, self.update_freq):
            # Between two epochs, the number of steps is that of another shard.
            self.groups = self._whole if self.shards > 1 and not steps else state["groups"]
            self._skip = steps
            return
        for _ in self.plan.groups(self._cursors, self._groups_done, steps, math.prod(then)):
            pass
        self._groups_done += steps
        self.groups = max(1, round(self._whole * (1 - steps / state["groups"])))


def _as_it_is(batch: Any) -> Any:
    return batch  # torch's own default would turn a pair of languages into a list


class _EpochSampler:
    """Passes one worker's batch specifications of one epoch to a data loader, one by one.

    It must not refer to the iterator that holds it: loader workers that are only reached by the
    cyclic garbage collector lose their queue before they receive the signal to stop, and then
    cost five seconds each.

    Args:
        plan, cursors, first: where the epoch begins; ``cursors`` are not changed.
        groups: number of groups in the epoch.
        mine: which batches of a group are this worker's; its ``stop`` is the group's size.
        skip: groups that were already taken.
    """

    def __init__(
        self, plan: Plan, cursors: list[Cursor], first: int, groups: int, mine: slice, skip: int
    ):
        self.plan, self.cursors, self.first, self.groups = plan, cursors, first, groups
        self.mine, self.skip = mine, skip
        self.cursors_after: list[Cursor] | None = None

    def __len__(self) -> int:
        return (self.groups - self.skip) * len(range(self.mine.stop)[self.mine])

    def __iter__(self) -> Iterator[BatchSpec]:
        cursors = copy.deepcopy(self.cursors)
        groups = self.plan.groups(cursors, self.first, self.groups, self.mine.stop)
        for number, group in enumerate(groups, start=1):
            if number == self.groups:
                self.cursors_after = cursors
            if number > self.skip:
                yield from group[self.mine]


class EvaluationIterator(_EpochIterator):
    """Every row of a split once, in a fixed order, distributed round-robin to the workers.

    If the batches do not divide evenly, the last workers get ``None``, which the trainer
    ignores.
    """

    def __init__(
        self,
        dataset: BatchDataset,
        specs: list[BatchSpec],
        *,
        num_shards: int,
        shard: int,
        num_workers: int,
    ):
        self.dataset, self.specs = dataset, specs
        self.num_shards, self.shard = num_shards, shard
        self.num_workers = loader_processes(num_workers, len(specs) // num_shards)
        self.epoch = 1

    def __len__(self) -> int:
        return -(-len(self.specs) // self.num_shards)

    @property
    def first_batch(self) -> Any:
        return self.dataset[self.specs[0]]

    @property
    def next_epoch_idx(self) -> int:
        return self.epoch

    @property
    def iterations_in_epoch(self) -> int:
        return self._itr.n if self._itr is not None else 0

    def next_epoch_itr(
        self, shuffle: bool = True, fix_batches_to_gpus: bool = False, set_dataset_epoch=True
    ) -> CountingIterator:
        mine: list[BatchSpec | None] = list(self.specs[self.shard :: self.num_shards])
        mine += [None] * (len(self) - len(mine))
        return self._load(mine)

    def state_dict(self) -> dict[str, Any]:
        return {"version": 2, "epoch": self.epoch, "iterations_in_epoch": self.iterations_in_epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch = state["epoch"]
