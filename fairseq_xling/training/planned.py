"""What the tasks over parallel and monolingual text have in common: iterators, precision, steps."""

from typing import Any, Optional

import torch
from fairseq.tasks import FairseqTask

from fairseq_xling.compat import early_stopping_state, restore_early_stopping
from fairseq_xling.data.dataset import BatchDataset
from fairseq_xling.data.iterator import EvaluationIterator, TrainingIterator
from fairseq_xling.data.plan import Limits, Plan, in_order
from fairseq_xling.errors import exits_on_user_error
from fairseq_xling.training.checked import Checked
from fairseq_xling.training.precision import InPrecision
from fairseq_xling.training.private import leaving_alone, zero_untouched


class PlannedTask(Checked, InPrecision, FairseqTask):
    """A task whose batches come from a `Plan`: nothing grows with the corpus, and a training that
    was killed resumes where it was.

    ``cfg`` is a `PrecisionConfig` with ``seed``, ``sort_window``, ``epoch_updates`` and
    ``update_freq``.
    """

    def __init__(self, cfg: Any):
        super().__init__(cfg)
        self._private: list[torch.nn.Parameter] = []
        self._untouched: list[torch.nn.Parameter] = []

    def make_plan(self, dataset: BatchDataset, limits: Limits) -> Plan:
        """The order of training."""
        return Plan(dataset.feeds, limits, self.cfg.seed, window=self.cfg.sort_window)

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
        cursors, groups_done = plan.start(), 0
        previous = getattr(self, "_training_iterator", None)
        if epoch > 1 and previous is not None and previous.epoch == epoch - 1:
            cursors, groups_done = previous.after_epoch()
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
        )
        return self._training_iterator

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        first = all(parameter.grad is None for parameter in self._private)
        with self.precision():
            result = super().train_step(
                sample, model, criterion, optimizer, update_num, ignore_grad
            )
        if first:  # all batches of a step have the same languages
            self._untouched = zero_untouched(self._private)
        return result

    def valid_step(self, sample, model, criterion):
        with self.precision():
            return super().valid_step(sample, model, criterion)

    def optimizer_step(self, optimizer, model, update_num):
        with leaving_alone(optimizer, self._untouched):
            optimizer.step()

    def get_checkpoint_dict(self) -> dict[str, Any]:
        return {type(self).__name__: {"early_stopping": early_stopping_state()}}

    def set_checkpoint_dict(self, state: dict[str, Any]) -> None:
        restore_early_stopping(state.get("early_stopping", {}))
