"""`--task clcr`: align two pretrained encoders, one module at a time.

Cross-lingual contextual representations (CLCR, section 3): a sentence and its translation become
the same sequence of vectors. The task reads the pairs of a data folder whose ids both encoders
share, and trains one module (`--clcr-module`): the transforms, with `--clcr-phase` also an encoder;
the key-point classifiers; an order head.
"""

import contextlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, List, Optional

from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask, register_task
from omegaconf import II, MISSING

from fairseq_xling.checkpoints import building, check_complete, reading
from fairseq_xling.clcr.start import gather
from fairseq_xling.data.folder import DataFolder, Shards
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.languages import parse_languages
from fairseq_xling.models.clcr.model import ClcrModelConfig
from fairseq_xling.models.clcr.modules import modules
from fairseq_xling.models.clcr.phases import phases
from fairseq_xling.ranges import COUNT, NOT_NEGATIVE, check_fields, ranged
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.clcr_data import first_batches, pair_feed
from fairseq_xling.training.planned import PlannedTask
from fairseq_xling.training.precision import PrecisionConfig, check_precision


@dataclass
class ClcrConfig(PrecisionConfig):
    data: str = field(
        default=MISSING, metadata={"help": "data folder made by `fairseq-xling prepare`"}
    )
    clcr_pair: Optional[str] = field(
        default=None,
        metadata={
            "help": "the two languages, e.g. en,de: states of the first are mapped to the second's "
            "(default: the data folder's only pair)"
        },
    )
    clcr_module: str = field(
        default="transform", metadata={"help": "what is trained: transform, extract, order"}
    )
    clcr_phase: str = field(
        default="transform",
        metadata={
            "help": "with the module `transform`: transform (both encoders frozen), lm1 or lm2 "
            "(also "
            "train the first or the second encoder)"
        },
    )
    clcr_labels: str = field(
        default="",
        metadata={"help": "folder of `fairseq-xling clcr label`, with pivots of each split"},
    )
    too_long: str = field(
        default="truncate",
        metadata={"help": "sentences longer than the position table: truncate, or refuse"},
    )
    epoch_updates: int = field(
        default=0,
        metadata=ranged(
            "optimiser steps per epoch; 0 is about one pass over the data", NOT_NEGATIVE
        ),
    )
    sort_window: int = field(
        default=32768,
        metadata=ranged("rows sorted by length together; more rows, less padding", COUNT),
    )
    seed: int = II("common.seed")
    amp: bool = II("common.amp")
    update_freq: List[int] = II("optimization.update_freq")


@register_task("clcr", dataclass=ClcrConfig)
class ClcrTask(PlannedTask):
    """The pairs of one direction, and the module that is trained on them."""

    def __init__(self, cfg: ClcrConfig, shards: Shards):
        super().__init__(cfg, shards)
        folder = self.folder
        self.pair = choose_pair(folder, cfg.clcr_pair)
        self.dictionary_digests = {lang: folder.dictionary_digest(lang) for lang in self.pair}
        self.clcr_module = modules[cfg.clcr_module]
        self._positions = 0
        _check(cfg, self.clcr_module.needs_labels)
        if self.clcr_module.needs_labels and len(shards) > 1:
            raise UserError(
                f"`--clcr-labels` are of one data folder, which data must name, got {cfg.data}"
            )

    @classmethod
    @exits_on_user_error
    def setup_task(cls, cfg: ClcrConfig, **kwargs: Any) -> "ClcrTask":
        return cls(cfg, Shards(cfg.data))

    @exits_on_user_error
    def build_model(self, cfg: FairseqDataclass, from_checkpoint: bool = False):
        if not hasattr(cfg, "clcr_config"):
            raise UserError("`--arch` must be clcr with this task")
        check_fields(ClcrModelConfig, cfg)
        check_complete("cfg.model.clcr_config", cfg.clcr_config)
        weights = None
        if not cfg.clcr_config:
            config, weights = gather(cfg, self.folder, self.pair, self.cfg.clcr_module)
            # Set here, in the configuration that is saved: a checkpoint needs no other file.
            cfg.clcr_config = json.dumps(config)
        with contextlib.ExitStack() as bounds:
            if weights is not None and cfg.clcr_start:
                bounds.enter_context(building(f"`--clcr-start` {cfg.clcr_start}", weights))
            model = FairseqTask.build_model(self, cfg, from_checkpoint)
        self._positions = model.max_positions()
        if weights is not None:
            first = first_batches(self.folder, self.pair, self.cfg, self._positions)
            start = cfg.clcr_start or cfg.encoder
            with reading(start):
                model.start_from(weights, start, first)
        return model

    @exits_on_user_error
    def load_dataset(self, split: str, combine: bool = False, **kwargs: Any) -> None:
        labels = Path(self.cfg.clcr_labels) if self.clcr_module.needs_labels else None
        folder = self.folder_of(split, **kwargs)
        feed = pair_feed(folder, split, self.pair, self.cfg, self._positions, labels)
        seed = self.seed_of(split, **kwargs)
        self.datasets[split] = BatchDataset([feed], {feed.objective.name: 0}, seed)

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """Loss, speed, and what the module computes from its sums."""
        super().reduce_metrics(logging_outputs, criterion)
        self._check_finite(logging_outputs, criterion.training)
        names = [name for name in logging_outputs[0] if name.startswith(criterion.SUM)]
        plain = [name.removeprefix(criterion.SUM) for name in names]
        for name, short in zip(names, plain, strict=True):
            total = sum(log[name] for log in logging_outputs)
            metrics.log_scalar_sum(f"_{short}", float(total))
        for score in self.clcr_module.scores(dict.fromkeys(plain, 0.0), self.pair):
            metrics.log_derived(score, self._score(score, plain))

    @exits_on_user_error
    def _check_finite(self, logging_outputs: list[dict[str, Any]], training: bool) -> None:
        """A distance can overflow while its gradient stays finite."""
        if training and (self.cfg.fp16 or self.cfg.amp):
            return  # such a step is skipped, at a lower loss scale
        total = float(sum(log["loss"] for log in logging_outputs))
        if not math.isfinite(total):
            raise UserError(
                f"the loss of {'training' if training else 'validation'} must be finite, got "
                f"{total}: the training diverged; lower `--lr`"
            )

    def _score(self, score: str, names: list[str]):
        def derive(meters: Any) -> float:
            sums = {name: float(meters[f"_{name}"].sum) for name in names}
            return round(self.clcr_module.scores(sums, self.pair)[score], 4)

        return derive

    def max_positions(self) -> int:
        return self._positions


def choose_pair(folder: DataFolder, text: str | None) -> tuple[str, str]:
    """The two languages that ``text`` names, or the only pair with training text.

    Raises:
        UserError: if it does not name two, or there are several and none is named.
    """
    if text:
        pair = parse_languages(text, "--clcr-pair")
        if len(pair) != 2:
            raise UserError(f"`--clcr-pair` must be two languages, e.g. en,de, got {text!r}")
        return pair[0], pair[1]
    known = folder.pairs("train")
    if len(known) != 1:
        names = ", ".join("-".join(pair) for pair in known) or "none"
        raise UserError(
            f"`--clcr-pair` must name two languages, since {folder.path} has not one pair of "
            f"parallel training text but {names}"
        )
    return known[0]


def _check(cfg: ClcrConfig, needs_labels: bool) -> None:
    phase = phases[cfg.clcr_phase]
    if needs_labels and phase.encoder is not None:
        raise UserError(
            f"`--clcr-phase {phase.name}` trains an encoder with the module transform, got "
            f"`--clcr-module {cfg.clcr_module}`"
        )
    if needs_labels and not cfg.clcr_labels:
        raise UserError(
            f"`--clcr-module {cfg.clcr_module}` needs `--clcr-labels`, a folder of `fairseq-xling "
            "clcr label`"
        )
    check_choices(cfg, too_long=("truncate", "refuse"))
    check_precision(cfg)


# By task, the rows of the specification that it implements.
SPEC_ROWS = {"clcr": ("C2", "C3", "C4", "C5", "C8", "C9", "C11", "C12")}
