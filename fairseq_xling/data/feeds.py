"""Which sources a set of objectives reads, and how much of each."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairseq_xling.core.arguments import names_in
from fairseq_xling.core.errors import UserError
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.registry import Registry, unknown_name
from fairseq_xling.data.example import Objective
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.plan import Feed
from fairseq_xling.data.sampling import smoothed_shares
from fairseq_xling.data.sources import Pairs, SegmentPairs, Source, break_modes

logger = logging.getLogger(__name__)

# What text an objective can read: ``read(folder, split, objective, scope)`` returns its sources.
readers: Registry = Registry("kind of text")

_MONO_TEXT = ("mono", "parallel")


@dataclass(frozen=True)
class Scope:
    """Which languages and directions a task reads, and how.

    Attributes:
        languages: all of the task's.
        mono_languages: those of monolingual objectives.
        directions: (source, target) pairs of parallel objectives; empty is all, as prepared.
    """

    cfg: Any
    languages: Sequence[str]
    mono_languages: Sequence[str]
    directions: Sequence[tuple[str, str]]
    max_positions: int

    @classmethod
    def of(cls, cfg: Any, languages: Sequence[str], max_positions: int) -> "Scope":
        """From the options."""
        mono = (
            parse_languages(cfg.mono_languages, "--mono-languages")
            if cfg.mono_languages
            else list(languages)
        )
        directions = parse_directions(cfg.directions)
        for lang in [*mono, *(lang for pair in directions for lang in pair)]:
            if lang not in languages:
                raise unknown_name(
                    "language in `--mono-languages` or `--directions`", lang, list(languages)
                )
        if cfg.mono_text not in _MONO_TEXT:
            raise UserError(
                f"`--mono-text` must be {' or '.join(_MONO_TEXT)}, got {cfg.mono_text!r}"
            )
        return cls(cfg, languages, mono, directions, max_positions)


def parse_directions(text: str) -> list[tuple[str, str]]:
    """``en-de,de-en`` as pairs.

    >>> parse_directions("en-de,de-en")
    [('en', 'de'), ('de', 'en')]
    """
    pairs = []
    for item in names_in(text):
        source, dash, target = item.partition("-")
        if not (source and dash and target) or source == target or "-" in target:
            raise UserError(f"`--directions` must be like en-de,de-en, got {item!r}")
        pairs.append((source, target))
    return pairs


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

    Within an objective, sources are sampled by size^alpha; objectives are sampled by ``shares``.
    Sentences are cut at ``max_positions`` ids.

    Raises:
        UserError: if an objective finds nothing to read in this split, a language has no text in
            it, or no objective has a share.
    """
    if not any(shares.values()):
        raise UserError("`--objective-shares` must give at least one objective more than 0")
    scope = Scope.of(cfg, languages, max_positions)
    feeds = []
    for objective in objectives:
        read = readers[objective.reads]
        sources = {source.name: source for source in read(folder, split, objective, scope)}
        if not sources:
            raise UserError(
                f"{folder.path}: has no {split!r} text for objective {objective.name!r} "
                f"({objective.reads}) in {', '.join(languages)}{folder.other_splits(split)}"
            )
        sizes = {name: source.num_sentences for name, source in sources.items()}
        smoothed = smoothed_shares(sizes, cfg.lang_sampling_alpha)
        for name, source in sources.items():
            feeds.append(Feed(objective, source, smoothed[name] * shares[objective.name]))
            cut = source.num_truncated()
            if cut and cfg.too_long == "refuse":
                raise UserError(
                    f"{folder.path}: {cut} sentences of {split} {name} are longer than "
                    f"`--max-positions` {max_positions}, and `--too-long` is refuse"
                )
            if cut:
                logger.warning(
                    "%s %s: %d sentences are cut at --max-positions %d",
                    split,
                    name,
                    cut,
                    max_positions,
                )
    return feeds


@readers.register("mono")
def _mono(folder: DataFolder, split: str, objective: Objective, scope: Scope) -> list[Source]:
    """One language's text; with `--mono-text parallel`, its side of the parallel text."""
    kind = break_modes[scope.cfg.sample_break_mode]
    if scope.cfg.mono_text == "mono":
        for lang in scope.mono_languages:
            pairs = ["-".join(pair) for pair in folder.pairs(split) if lang in pair]
            if pairs and not folder.has_mono(split, lang):
                raise UserError(
                    f"{folder.path}: has no monolingual {split!r} text of language {lang!r}; "
                    f"`--mono-text parallel` reads that of {', '.join(pairs)}"
                )
        files = {lang: folder.mono(split, lang) for lang in scope.mono_languages}
        return [kind.open(f, lang, scope.cfg, scope.max_positions) for lang, f in files.items()]
    sources = []
    for pair in folder.pairs(split):
        for lang, file in zip(pair, folder.parallel(split, *pair), strict=True):
            if lang in scope.mono_languages and set(pair) <= set(scope.languages):
                source = kind.open(file, lang, scope.cfg, scope.max_positions)
                source.name = f"{lang}@{'-'.join(pair)}"
                sources.append(source)
    return sources


@readers.register("parallel")
def _parallel(folder: DataFolder, split: str, objective: Objective, scope: Scope) -> list[Source]:
    """Sentence pairs, in the directions asked for; those that were named must be there."""
    found = scope.directions or [
        pair for pair in folder.pairs(split) if set(pair) <= set(scope.languages)
    ]
    return [
        Pairs(
            *folder.parallel(split, *pair),
            pair,
            scope.max_positions,
            folder.order(split, *pair) if objective.needs_order else None,
            folder.further(split, *pair) if objective.needs_order and objective.reorders else None,
        )
        for pair in found
    ]


@readers.register("segments")
def _segments(folder: DataFolder, split: str, objective: Objective, scope: Scope) -> list[Source]:
    """Two segments of one language's text, the second of which may follow the first."""
    return [
        SegmentPairs(folder.mono(split, lang), lang, scope.max_positions)
        for lang in scope.mono_languages
    ]


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
