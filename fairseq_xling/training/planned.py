"""What the tasks over parallel and monolingual text have in common: batches from a plan."""

from typing import Any, Optional

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.data.folder import DataFolder, Shards
from fairseq_xling.data.iterator import BatchDataset, EvaluationIterator, TrainingIterator
from fairseq_xling.data.plan import Limits, Plan, in_order
from fairseq_xling.data.sampling import mix
from fairseq_xling.training.base import Task


class PlannedTask(Task):
    """A task whose batches come from a `Plan`: nothing grows with the corpus, and a training that
    was killed resumes where it was.

    ``cfg`` is a `PrecisionConfig` with ``seed``, ``sort_window``, ``epoch_updates`` and
    ``update_freq``.
    """

    def __init__(self, cfg: Any, shards: Shards):
        super().__init__(cfg)
        self.shards, self.folder = shards, shards.first

    def folder_of(self, split: str, epoch: int = 1, **kwargs: Any) -> DataFolder:
        """Where an epoch reads a split; the keywords are those of `load_dataset`.

        Raises:
            UserError: if that shard is missing, or another than when the task began.
        """
        return self.shards.folder(split, epoch)

    def seed_of(self, split: str, epoch: int = 1, **kwargs: Any) -> int:
        """The seed of order and masks: each shard has its own, the first that of the training."""
        number = self.shards.number(epoch) if split == "train" else 0
        return mix(self.cfg.seed, 4, number) if number else self.cfg.seed

    def has_sharded_data(self, split: str) -> bool:
        """fairseq's hook: whether a split is loaded again for every epoch."""
        return len(self.shards) > 1

    def make_plan(self, dataset: BatchDataset, limits: Limits) -> Plan:
        """The order of training."""
        return Plan(dataset.feeds, limits, dataset.seed, window=self.cfg.sort_window)

    @exits_on_user_error
    def get_batch_iterator(
        self,
        dataset: BatchDataset,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        num_shards: int = 1,
        shard_id: int = 0,
        num_workers: int = 0,
        epoch: int = 1,
        **kwargs: Any,
    ):
        """fairseq's hook: training batches from a plan, or every row once for other splits."""
        limits = Limits(max_tokens, max_sentences)
        if dataset is not self.datasets.get("train"):
            return EvaluationIterator(
                dataset,
                list(in_order(dataset.feeds, limits, self.cfg.sort_window)),
                num_shards=num_shards,
                shard=shard_id,
                num_workers=num_workers,
            )
        plan = self.make_plan(dataset, limits)
        frequencies = self.cfg.update_freq
        update_freq = frequencies[min(epoch, len(frequencies)) - 1]
        per_pass = -(-plan.batches_per_pass() // (num_shards * update_freq))
        cursors, groups_done, others = plan.start(), 0, {}
        number = self.shards.number(epoch)
        previous = getattr(self, "_training_iterator", None)
        if epoch > 1 and previous is not None and previous.epoch == epoch - 1:
            others, groups_done = previous.cursors_after()
            if plan.fits(there := others.pop(number, [])):
                cursors = there
        self._training_iterator = TrainingIterator(
            dataset,
            plan,
            cursors,
            epoch=epoch,
            groups_done=groups_done,
            groups=self.cfg.epoch_updates or per_pass,
            update_freq=update_freq,
            num_shards=num_shards,
            shard=shard_id,
            num_workers=num_workers,
            shards=len(self.shards),
            others=others,
        )
        return self._training_iterator
