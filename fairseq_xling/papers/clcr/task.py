"""`--task clcr`: align two pretrained encoders, one module at a time.

Cross-lingual contextual representations (CLCR, section 3): a sentence and its translation become
the same sequence of vectors. The task reads the pairs of a data folder whose ids both encoders
share, and trains one module (`--clcr-module`): the transforms, with `--clcr-phase` also an encoder;
the key-point classifiers; an order head.
"""

import contextlib
import functools
import json
import logging
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional

import numpy as np
from fairseq.dataclass import FairseqDataclass
from fairseq.logging import metrics
from fairseq.tasks import FairseqTask, register_task
from omegaconf import II, MISSING

from fairseq_xling.checkpoints import building, check_complete, reading
from fairseq_xling.core.errors import UserError, about, exits_on_user_error
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.ranges import COUNT, NOT_NEGATIVE, check_fields
from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Example, Objective, Vocabulary
from fairseq_xling.data.folder import DataFolder, Shards
from fairseq_xling.data.iterator import BatchDataset
from fairseq_xling.data.plan import Feed
from fairseq_xling.data.sources import Pairs, Row
from fairseq_xling.papers.clcr.labels import Labels
from fairseq_xling.papers.clcr.model import ClcrModelConfig, described
from fairseq_xling.papers.clcr.modules import modules
from fairseq_xling.papers.clcr.phases import phases
from fairseq_xling.papers.clcr.start import gather
from fairseq_xling.training.base import check_choices
from fairseq_xling.training.planned import PlannedTask
from fairseq_xling.training.precision import PrecisionConfig, check_precision

logger = logging.getLogger(__name__)

FIRST, AT_A_TIME = 2048, 32  # pairs that a new module may see before training


@dataclass
class ClcrConfig(PrecisionConfig):
    data: str = described(MISSING, "data folder made by `fairseq-xling prepare`")
    clcr_pair: Optional[str] = described(
        None,
        "the two languages, e.g. en,de: states of the first are mapped to the second's "
        "(default: the data folder's only pair)",
    )
    clcr_module: str = described("transform", "what is trained: transform, extract, order")
    clcr_phase: str = described(
        "transform",
        "with the module `transform`: transform (both encoders frozen), lm1 or lm2 (also train "
        "the first or the second encoder)",
    )
    clcr_labels: str = described(
        "", "folder of `fairseq-xling clcr label`, with pivots of each split"
    )
    too_long: str = described(
        "truncate", "sentences longer than the position table: truncate, or refuse"
    )
    epoch_updates: int = described(
        0, "optimiser steps per epoch; 0 is about one pass over the data", NOT_NEGATIVE
    )
    sort_window: int = described(
        32768, "rows sorted by length together; more rows, less padding", COUNT
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
        encoder = phases[cfg.clcr_phase]
        if self.clcr_module.needs_labels:
            if encoder is not None:
                raise UserError(
                    f"`--clcr-phase {cfg.clcr_phase}` trains an encoder with the module transform, "
                    f"got `--clcr-module {cfg.clcr_module}`"
                )
            if not cfg.clcr_labels:
                raise UserError(
                    f"`--clcr-module {cfg.clcr_module}` needs `--clcr-labels`, a folder of "
                    "`fairseq-xling clcr label`"
                )
        check_choices(cfg, too_long=("truncate", "refuse"))
        check_precision(cfg)
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
                bounds.enter_context(about(cfg.clcr_start))
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
        names = [x for x in logging_outputs[0] if x.startswith(criterion.SUM)]
        plain = [name.removeprefix(criterion.SUM) for name in names]
        for name, short in zip(names, plain, strict=True):
            metrics.log_scalar_sum(f"_{short}", float(sum(log[name] for log in logging_outputs)))

        def score_of(score: str, meters: Any) -> float:
            sums = {name: float(meters[f"_{name}"].sum) for name in plain}
            return round(self.clcr_module.scores(sums, self.pair)[score], 4)

        for score in self.clcr_module.scores(dict.fromkeys(plain, 0.0), self.pair):
            metrics.log_derived(score, functools.partial(score_of, score))

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

    def max_positions(self) -> int:
        return self._positions


def choose_pair(folder: DataFolder, text: str | None) -> tuple[str, str]:
    """The two languages that ``text`` names, or the only pair with training text."""
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


class PairText(Objective):
    """A sentence on one side, its translation on the other, and ``order`` where there is one."""

    name = "clcr"
    reads = "parallel"

    def __call__(self, row: Row, rng: np.random.Generator) -> Example:
        target = self.vocabulary.side(row.target)
        predict = np.zeros(len(target["tokens"]), dtype=bool)
        tgt, extra = {**target, "predict": predict}, {}
        if row.order is not None:
            # Its width says how many pivots those of a batch have, frames apart, which would
            # otherwise be asked of the device.
            pivots = np.count_nonzero(row.order[1:-1] >= 0)
            extra["pivots"] = np.ones(pivots, dtype=np.int64)
        return Example(self.vocabulary.side(row.source), tgt, row.order, extra)


def pair_feed(
    folder: DataFolder,
    split: str,
    pair: tuple[str, str],
    cfg: Any,
    positions: int,
    labels: Path | None,
) -> Feed:
    """The sentence pairs of a split; ``labels`` is the folder of `fairseq-xling clcr label`."""
    sides = folder.parallel(split, *pair)
    order = None
    if labels is not None:
        found = Labels(labels / split)
        if not found.pivots:
            raise UserError(
                f"{found.path}: contains no pivots to learn from; label again with a higher "
                f"threshold than {found.threshold:g}"
            )
        order = found.order(sides, pair)
    source = Pairs(*sides, pair, positions, order)
    cut = source.num_truncated()
    if cut and cfg.too_long == "refuse":
        raise UserError(
            f"{folder.path}: {cut} sentences of {split} {source.name} are longer than the "
            f"encoders' position tables, {positions} tokens with <s> and </s>; `--too-long` is "
            "refuse"
        )
    if cut:
        logger.warning(
            "%s %s: %d sentences are cut at %d tokens, <s> and </s> included",
            *(split, source.name, cut, positions),
        )
    vocabulary = Vocabulary(folder.vocab_sizes, {lang: n for n, lang in enumerate(pair)})
    return Feed(PairText(cfg, vocabulary), source, 1.0)


def first_batches(
    folder: DataFolder, pair: tuple[str, str], cfg: Any, positions: int
) -> Iterator[dict[str, Any]]:
    """The first sentence pairs of the training text, ``src`` and ``tgt`` of a few at a time.

    The same on every worker and for every seed: what is computed from them is deterministic.
    """
    feed = pair_feed(folder, "train", pair, cfg, positions, None)
    rng = np.random.default_rng(0)  # irrelevant: `PairText` draws nothing
    count = min(FIRST, len(feed.source))
    for start in range(0, count, AT_A_TIME):
        ids = range(start, min(start + AT_A_TIME, count))
        examples = [feed.objective(feed.source[i], rng) for i in ids]
        yield collate(examples, [0] * len(examples), ids, None)["net_input"]
