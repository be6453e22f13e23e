"""The base of tasks that train a head of `fairseq_xling.tasks.heads` on annotated files."""

import dataclasses
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fairseq.logging import metrics
from omegaconf import II

from fairseq_xling.checkpoints import origin
from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.ranges import NOT_NEGATIVE, ranged
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.heads import Head, check_labels, count_items, find_labels, heads
from fairseq_xling.tasks.items import SKIP_BAD_HELP, Item, parse_columns, parse_files
from fairseq_xling.tasks.options import parse_options
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.items import ItemTask
from fairseq_xling.training.precision import PrecisionConfig, check_precision
from fairseq_xling.training.transfer_criterion import COUNT

# How heads turn items into rows; a checkpoint without it is of 0.2.0 or older, form 1.
HEAD_FORM = 2


@dataclass
class HeadConfig(PrecisionConfig):
    head: str = field(default="classification", metadata={"help": "what is predicted"})
    head_options: str = field(
        default="", metadata={"help": "settings of the head, e.g. dropout=0.2"}
    )
    train_file: str = field(default="", metadata={"help": "training files: en=FILE[,de=FILE]"})
    valid_file: str = field(
        default="", metadata={"help": "files for selecting the checkpoint: en=FILE"}
    )
    format: str = field(
        default="",
        metadata={"help": "format of the files, e.g. json_lines (default: the head's own)"},
    )
    columns: str = field(
        default="", metadata={"help": "which column holds what, e.g. text=0,label=2"}
    )
    skip_bad: int = field(default=0, metadata=ranged(SKIP_BAD_HELP, NOT_NEGATIVE))
    unknown_labels: str = field(
        default="refuse",
        metadata={"help": "labels not seen in training: refuse, or wrong (count as mistakes)"},
    )
    persistent_workers: bool = field(default=False, metadata={"help": "keep loader processes"})
    seed: int = II("common.seed")


class HeadTask(ItemTask):
    """Files, labels and metrics of one head; what it reads is that of a subclass."""

    def __init__(self, cfg: HeadConfig):
        super().__init__(cfg)
        self._items: dict[str, list[tuple[str, list[Item]]]] = {}
        check_choices(cfg, unknown_labels=("refuse", "wrong"))
        check_precision(cfg)
        self.columns = parse_columns(cfg.columns)
        self.kind = heads[cfg.head]
        self.format = find_format(self.kind.format, cfg.format)
        self._options = parse_options(cfg.head_options, self.kind.Options)
        # Part of a checkpoint, which restores it before the head is requested: a model's labels
        # must not depend on what the training file contains later.
        self.state.add_factory("labels", self._labels)
        self.state.add_factory("head_form", lambda: 1 if self.trained else HEAD_FORM)

    @functools.cached_property
    def head(self) -> Head:
        """The head, whose labels are those of the checkpoint or, at the start, of training."""
        options = self._options
        if self.state.head_form < HEAD_FORM:
            options = dataclasses.replace(options, **self.kind.older)
        return self.kind(self.state.labels, options)

    def _labels(self) -> dict[str, list[str]]:
        if self.trained:  # a file named in it must not be read instead
            raise UserError(f"{origin()}: must have labels (`task_state.labels`), got none")
        items = (i for _, items in self.annotated("train") for i in items)
        return find_labels(self.kind, items, self._options)

    def annotated(self, split: str) -> list[tuple[str, list[Item]]]:
        """The items of the files of a split, by language; read once.

        Raises:
            UserError: for a split without files, or files without annotation.
        """
        if split not in self._items:
            option, text = self.file_option(split)
            files = parse_files(option, text)
            self._items[split] = [(lang, self.read(lang, path)) for lang, path in files]
            for (_, path), (_, items) in zip(files, self._items[split], strict=True):
                count_items(self.kind, option, path, items)
        return self._items[split]

    def make_dataset(
        self, files: Iterable[tuple[str, list[Item]]], shuffle: bool = False
    ) -> ItemDataset:
        """The items that `read` returns, encoded."""
        raise NotImplementedError(type(self).__name__)

    def check_labels(self, items: list[Item]) -> None:
        """Reject labels that were not seen in training, unless they count as mistakes."""
        if self.cfg.unknown_labels == "refuse":
            check_labels(self.head, items)

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        self.datasets[split] = self.make_dataset(self.annotated(split), shuffle=split == "train")

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """Loss, speed and, in validation, the head's metrics."""
        super().reduce_metrics(logging_outputs, criterion)
        names = self.head.count_names
        if not any(f"{COUNT}{names[0]}" in log for log in logging_outputs):
            return
        for name in names:
            sums = sum(log.get(f"{COUNT}{name}", 0) for log in logging_outputs)
            metrics.log_scalar_sum(f"_{name}", float(sums))
        for name in self.head.scores(dict.fromkeys(names, 0.0)):
            metrics.log_derived(name, functools.partial(self._score, name=name))

    def _score(self, meters: Any, name: str) -> float:
        sums = {n: float(meters[f"_{n}"].sum) for n in self.head.count_names}
        return round(self.head.scores(sums)[name], 3)
