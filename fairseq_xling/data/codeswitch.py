"""Extra anchors: words replaced by dictionary translations when a batch is made.

Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 4.2 (ablation A5): each
dictionary word is kept with probability .7 and otherwise replaced by a translation sampled by its
quality, and at most 15 % of the words of a batch change. With dictionary coverage c the expected
share of dictionary words that are replaced is min(.30, .15 / c).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairseq_xling.core.errors import UserError
from fairseq_xling.data.folder import SPECIALS, DataFolder
from fairseq_xling.data.sources import Row

_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Lexicon:
    """The dictionary of one language: source words by hash, and their translations.

    Attributes:
        hashes: (n,) sorted, of the source words' ids.
        translations: for each, the target words' ids, one array each.
        chances: for each, the probability of each translation.
    """

    hashes: np.ndarray
    translations: list[list[np.ndarray]]
    chances: list[np.ndarray]


class CodeSwitch:
    """A batch transform; see the module's docstring.

    Args:
        lexicons: by language; languages without one are left alone.
        word_start: (V,) bool, whether an id of the one vocabulary begins a word.
        share: probability that a dictionary word is chosen.
        cap: maximum share of a batch's words that may change.
        max_positions: longest row that the model can read, in tokens.
    """

    def __init__(
        self,
        lexicons: Mapping[str, Lexicon],
        word_start: np.ndarray,
        share: float,
        cap: float,
        max_positions: int,
    ):
        self.lexicons, self.word_start = dict(lexicons), word_start
        self.share, self.cap, self.max_positions = share, cap, max_positions

    @classmethod
    def from_folder(
        cls,
        folder: DataFolder,
        languages: Sequence[str],
        dictionaries: Mapping[str, Sequence[str]],
        share: float,
        cap: float,
        max_positions: int,
    ) -> "CodeSwitch":
        """The folder's dictionaries, restricted to translations into ``languages``.

        Raises:
            UserError: if the folder has no dictionary for any of them, or vocabularies are
                separate (a foreign word would have no id there).
        """
        if folder.separate_vocabularies:
            raise UserError(
                f"`--extra-anchors` needs one vocabulary for all languages, {folder.path} has one "
                "for each"
            )
        lexicons = {}
        for lang in languages:
            entries = [
                (source, [t for t in targets if t[2] in languages])
                for source, targets in folder.anchors(lang)
            ]
            entries = [(source, targets) for source, targets in entries if targets]
            if entries:
                lexicons[lang] = make_lexicon(entries)
        if not lexicons:
            raise UserError(
                f"`--extra-anchors`: {folder.path} has no dictionary between "
                f"{', '.join(languages)}; prepare it with --dictionary"
            )
        word_start = word_starts(dictionaries[languages[0]].symbols)
        return cls(lexicons, word_start, share, cap, max_positions)

    def __call__(self, rows: list[Row], rng: np.random.Generator) -> list[Row]:
        """``rows`` with some words replaced; nothing else about them changes."""
        found, words = [], 0
        for number, row in enumerate(rows):
            starts, ends, hashes = split_words(row.source.tokens, self.word_start)
            words += len(starts)
            lexicon = self.lexicons.get(row.source.lang)
            if lexicon is None:
                continue
            place = np.searchsorted(lexicon.hashes, hashes)
            place = np.minimum(place, len(lexicon.hashes) - 1)
            known = np.flatnonzero(lexicon.hashes[place] == hashes)
            found += [(number, starts[k], ends[k], place[k]) for k in known]
        chosen = np.flatnonzero(rng.random(len(found)) < self.share)
        most = int(self.cap * words)
        if len(chosen) > most:
            chosen = np.sort(rng.permutation(chosen)[:most])
        by_row: dict[int, list] = {}
        for k in chosen:
            by_row.setdefault(found[k][0], []).append(found[k])
        rows = list(rows)
        for number, swaps in by_row.items():
            rows[number] = self._swap(rows[number], swaps, rng)
        return rows

    def _swap(self, row: Row, swaps: list, rng: np.random.Generator) -> Row:
        lexicon, tokens = self.lexicons[row.source.lang], row.source.tokens
        pieces, last = [], 0
        for _, start, end, entry in swaps:
            options, chances = lexicon.translations[entry], lexicon.chances[entry]
            pieces += [tokens[last:start], options[rng.choice(len(options), p=chances)]]
            last = end
        swapped = np.concatenate([*pieces, tokens[last:]])
        room = self.max_positions
        if row.follows is not None:  # a second segment follows in the same input
            room -= len(row.target.tokens)
        if len(swapped) > room:  # longer translations; the final SEP stays
            swapped = np.append(swapped[: room - 1], swapped[-1])
        return replace(row, source=replace(row.source, tokens=swapped))


def split_words(
    tokens: np.ndarray, word_start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each word of ``tokens`` (n,) starts and ends (exclusive), and its hash: (w,) each.

    Special ids end a word and belong to none.
    """
    special = tokens < SPECIALS
    begins = word_start[tokens] | special
    begins[:1] = True
    bounds = np.flatnonzero(begins)
    ends = np.append(bounds[1:], len(tokens))
    keep = ~special[bounds]
    starts, ends = bounds[keep], ends[keep]
    return starts, ends, hash_spans(tokens, starts, ends)


def hash_spans(tokens: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """A 64-bit hash of ``tokens[starts:ends]``, for all spans at once: (w,) uint64."""
    longest = int((ends - starts).max(initial=0))
    hashes = np.zeros(len(starts), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for step in range(longest):  # over the pieces of the longest word, not over tokens
            here = starts + step < ends
            piece = tokens[np.minimum(starts + step, len(tokens) - 1)].astype(np.uint64)
            mixed = (hashes ^ (piece + np.uint64(1))) * _BASE
            hashes = np.where(here, mixed ^ (mixed >> np.uint64(29)), hashes)
    return hashes


def word_starts(symbols: Sequence[str]) -> np.ndarray:
    """(V,) bool: whether each symbol begins a word (``▁`` first, a language prefix aside)."""
    return np.array(
        [symbol.split(":", 1)[-1].startswith("▁") or symbol.startswith("▁") for symbol in symbols]
    )


def make_lexicon(entries: Sequence) -> Lexicon:
    """A `Lexicon` from ``(source ids, [[target ids, weight, language], ...])`` entries."""
    hashed = []
    for source, targets in entries:
        ids = np.array(source, dtype=np.int64)
        key = hash_spans(ids, np.array([0]), np.array([len(ids)]))[0]
        weights = np.array([weight for _, weight, _ in targets], dtype=np.float64)
        arrays = [np.array(target, dtype=np.int64) for target, _, _ in targets]
        hashed.append((key, arrays, weights / weights.sum()))
    hashed.sort(key=lambda entry: int(entry[0]))
    return Lexicon(
        np.array([key for key, _, _ in hashed], dtype=np.uint64),
        [arrays for _, arrays, _ in hashed],
        [chances for _, _, chances in hashed],
    )
