"""`--task cross_lingual_transfer`: fine-tune an encoder on annotated files.

Training reads only the given files: for zero-shot transfer, those of the source language. Other
languages are tested by `fairseq-xling predict` and `eval transfer`.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import register_task
from omegaconf import II, MISSING

from fairseq_xling.checkpoints import building, origin
from fairseq_xling.data.shards import Shards
from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.languages import parse_languages
from fairseq_xling.models.transfer_encoder import read_encoder
from fairseq_xling.tasks.dataset import ItemDataset
from fairseq_xling.tasks.encode import TOO_LONG, TOO_LONG_HELP, Codec
from fairseq_xling.tasks.formats import find_format
from fairseq_xling.tasks.head_input import HeadInput, check_mapped
from fairseq_xling.tasks.heads import Head, check_labels, count_items, find_labels, heads
from fairseq_xling.tasks.items import Item, parse_columns, parse_files
from fairseq_xling.tasks.options import parse_options
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.items import ItemTask
from fairseq_xling.training.precision import PrecisionConfig, check_precision
from fairseq_xling.training.transfer_criterion import COUNT

# How heads turn items into rows; a checkpoint without it is of 0.2.0 or older, form 1.
HEAD_FORM = 2


UNKNOWN_LABELS = ("refuse", "wrong")


@dataclass
class CrossLingualTransferConfig(PrecisionConfig):
    data: str = field(default=MISSING, metadata={"help": "the encoder's data folder"})
    languages: Optional[str] = field(
        default=None,
        metadata={"help": "the encoder's languages, in its order (default: the data folder's)"},
    )
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
    unknown_labels: str = field(
        default="refuse",
        metadata={"help": "labels not seen in training: refuse, or wrong (count as mistakes)"},
    )
    too_long: str = field(
        default="truncate",
        metadata={"help": TOO_LONG_HELP},
    )
    concat_vectors: str = field(
        default="",
        metadata={
            "help": "a head reads each token's state and the vector of its word, of files in one "
            "space: en=FILE,de=FILE"
        },
    )
    map: str = field(
        default="",
        metadata={
            "help": "map of `fairseq-xling map` from one language's states, with these vectors, to "
            "another's; a head reads them in the common space"
        },
    )
    persistent_workers: bool = field(default=False, metadata={"help": "keep loader processes"})
    seed: int = II("common.seed")


@register_task("cross_lingual_transfer", dataclass=CrossLingualTransferConfig)
class CrossLingualTransferTask(ItemTask):
    """Files, labels and batches for one head."""

    def __init__(self, cfg: CrossLingualTransferConfig, shards: Shards):
        super().__init__(cfg)
        self.shards, self.folder = shards, shards.first  # for its dictionaries and tokenizers
        folder = self.folder
        self.languages = parse_languages(cfg.languages) if cfg.languages else list(folder.languages)
        self.vocab_sizes = {lang: folder.vocab_sizes[lang] for lang in self.languages}
        self.dictionary_digests = {lang: folder.dictionary_digest(lang) for lang in self.languages}
        self._max_positions = 0
        self._mapped: list[str] = []  # the languages that a model's map is of
        self._trained = False  # whether a checkpoint brings the labels
        self._items: dict[str, list[tuple[str, list[Item]]]] = {}
        self._codecs: dict[str, Codec] = {}
        check_choices(cfg, unknown_labels=UNKNOWN_LABELS, too_long=TOO_LONG)
        check_precision(cfg)
        self.columns = parse_columns(cfg.columns)
        self._kind = heads[cfg.head]
        self.format = find_format(self._kind.format, cfg.format)
        self._options = parse_options("--head-options", cfg.head_options, self._kind.Options)
        # Part of a checkpoint, which restores it before the head is requested: a model's labels
        # must not depend on what the training file contains later.
        self.state.add_factory("labels", self._labels)
        self.state.add_factory("head_form", self._head_form)

    @classmethod
    @exits_on_user_error
    def setup_task(cls, cfg: CrossLingualTransferConfig, **kwargs: Any):
        task = cls(cfg, Shards(cfg.data))
        task._trained = bool(kwargs.get("from_checkpoint"))
        return task

    @functools.cached_property
    def head(self) -> Head:
        """The head, whose labels are those of the checkpoint or, at the start, of training."""
        options = self._options
        if self.state.head_form < HEAD_FORM:
            options = dataclasses.replace(options, **self._kind.older)
        return self._kind(self.state.labels, options)

    @functools.cached_property
    def head_input(self) -> HeadInput:
        """What a head reads besides states; an older checkpoint has no such options."""
        cfg = self.cfg
        return HeadInput.read(getattr(cfg, "concat_vectors", ""), getattr(cfg, "map", ""))

    def _head_form(self) -> int:
        return 1 if self._trained else HEAD_FORM

    def _labels(self) -> dict[str, list[str]]:
        if self._trained:  # a file named in it must not be read instead
            raise UserError(f"{origin()}: must have labels (`task_state.labels`), got none")
        items = (i for _, items in self._read("train") for i in items)
        return find_labels(self._kind, items, self._options)

    def _read(self, split: str) -> list[tuple[str, list[Item]]]:
        if split not in self._items:
            option, text = self.file_option(split)
            files = parse_files(option, text)
            self._items[split] = [(lang, self.read(lang, path)) for lang, path in files]
            for (_, path), (_, items) in zip(files, self._items[split], strict=True):
                count_items(self._kind, option, path, items)
        return self._items[split]

    def make_dataset(
        self, files: Iterable[tuple[str, list[Item]]], shuffle: bool = False
    ) -> ItemDataset:
        """The items that `read` returns, encoded; needs a model, which bounds the length."""
        parts = []
        for lang, items in files:
            if self.cfg.unknown_labels == "refuse":
                check_labels(self.head, items)
            check_mapped(self._mapped, lang)
            if lang not in self._codecs:
                self._codecs[lang] = Codec(
                    self.folder.path, lang, self._max_positions, self.cfg.too_long, self.head_input
                )
            parts.append((self._codecs[lang], self.languages.index(lang), items))
        return ItemDataset(parts, self.head, shuffle, self.cfg.seed)

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        self.datasets[split] = self.make_dataset(self._read(split), shuffle=split == "train")

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        if not hasattr(cfg, "encoder_config"):
            raise UserError("`--arch` must be cross_lingual_transfer with this task")
        weights = None
        if not cfg.encoder_config:
            # Set here, in the configuration that is saved: a checkpoint needs no other file.
            cfg.encoder_config, weights = read_encoder(cfg.encoder, self)
        with contextlib.ExitStack() as bounds:
            if weights is not None:
                bounds.enter_context(building(f"`--encoder` {cfg.encoder}", weights))
            model = super().build_model(cfg, from_checkpoint)
        if weights is not None and not cfg.reset_encoder:
            model.load_encoder(weights, cfg.encoder)
        self._max_positions, self._mapped = model.max_positions(), list(model.sides)
        return model

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
            metrics.log_derived(name, self._score(name))

    def _score(self, name: str):
        def derive(meters: Any) -> float:
            sums = {n: float(meters[f"_{n}"].sum) for n in self.head.count_names}
            return round(self.head.scores(sums)[name], 3)

        return derive

    def max_positions(self) -> int:
        return self._max_positions


# By task, the rows of the specification that it implements.
SPEC_ROWS = {"cross_lingual_transfer": ("A11",)}
