"""What `--task clcr` reads: sentence pairs, and their pseudo-gold pivots."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.clcr.labels import Labels
from fairseq_xling.data.batch import collate
from fairseq_xling.data.example import Example, Objective, Vocabulary
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.plan import Feed
from fairseq_xling.data.sources import Pairs, Row
from fairseq_xling.errors import UserError

logger = logging.getLogger(__name__)

FIRST, AT_A_TIME = 2048, 32  # pairs that a new module may see before training


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
    """The sentence pairs of a split; ``labels`` is the folder of `fairseq-xling clcr label`.

    Raises:
        UserError: if there are none, or labels that were made of other text.
    """
    sides = folder.parallel(split, *pair)
    order = None
    if labels is not None:
        found = Labels(labels / split)
        if not found.pivots:
            raise UserError(
                f"{found.path}: contains no pivots to learn from; label again with a higher "
                f"threshold "
                f"than {found.threshold:g}"
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
