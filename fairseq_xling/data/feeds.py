"""Which sources a set of objectives reads, and how much of each."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.plan import Feed
from fairseq_xling.data.sampling import smoothed_shares
from fairseq_xling.data.sources import Pairs, Source, break_modes
from fairseq_xling.errors import UserError
from fairseq_xling.objectives.base import Objective

logger = logging.getLogger(__name__)


def make_feeds(
    folder: DataFolder,
    split: str,
    languages: Sequence[str],
    objectives: Sequence[Objective],
    cfg: Any,
    shares: Mapping[str, float],
    max_positions: int,
) -> list[Feed]:
    """One feed for every objective and source, with its share of the batches.

    Within an objective the sources share by size^alpha; objectives share as ``shares`` says.
    Sentences are cut at ``max_positions`` ids.

    Raises:
        UserError: if an objective finds nothing to read in this split, a language has no text in
            it, or no objective has a share.
    """
    if not any(shares.values()):
        raise UserError("`--objective-shares` must give at least one objective more than 0")
    feeds = []
    for objective in objectives:
        sources = {
            s.name: s for s in _sources(folder, split, languages, objective, cfg, max_positions)
        }
        if not sources:
            raise UserError(
                f"{folder.path}: has no {split!r} text for objective {objective.name!r} "
                f"({objective.reads}) in {', '.join(languages)}"
            )
        sizes = {name: source.num_sentences for name, source in sources.items()}
        smoothed = smoothed_shares(sizes, cfg.lang_sampling_alpha)
        for name, source in sources.items():
            feeds.append(Feed(objective, source, smoothed[name] * shares[objective.name]))
            cut = source.num_truncated()
            if cut:
                logger.warning(
                    "%s %s: %d sentences are cut at --max-positions %d",
                    split,
                    name,
                    cut,
                    max_positions,
                )
    return feeds


def _sources(
    folder: DataFolder,
    split: str,
    languages: Sequence[str],
    objective: Objective,
    cfg: Any,
    max_positions: int,
) -> list[Source]:
    if objective.reads == "parallel":
        return [
            _pairs(folder, split, pair, objective, max_positions)
            for pair in folder.pairs(split)
            if set(pair) <= set(languages)
        ]
    files = {lang: folder.mono(split, lang) for lang in languages}
    kind = break_modes[cfg.sample_break_mode]
    return [kind.open(file, lang, cfg, max_positions) for lang, file in files.items()]


def _pairs(
    folder: DataFolder, split: str, pair: tuple[str, str], objective: Objective, max_positions: int
) -> Pairs:
    order = folder.order(split, *pair) if objective.needs_order else None
    return Pairs(*folder.parallel(split, *pair), pair, max_positions, order)


def own_ids(folder: DataFolder, lang: str, piece: int = 1 << 24) -> np.ndarray:
    """The sorted ids, without specials, that occur in the training text of ``lang``.

    The text is counted in pieces, so memory does not grow with it.
    """
    tokens = folder.mono("train", lang).tokens
    counts = np.zeros(folder.vocab_sizes[lang], dtype=np.int64)
    for start in range(0, len(tokens), piece):
        counts += np.bincount(tokens[start : start + piece], minlength=len(counts))
    counts[:SPECIALS] = 0
    return np.flatnonzero(counts)
