"""Bilingual lexicon induction between two folders of word vectors: P@1, P@5, P@10 and MRR.

  fairseq-xling eval bli states/en states/de --dictionary en-de.tsv --output bli.json
  fairseq-xling eval bli states/en states/de --dictionary en-de.0-5000.txt --map en-de.map

X and Y are folders of `fairseq-xling extract --unit types` or `--unit static`, of any encoders. The
dictionary has a source and a target word on each line, separated by a tab or a space, like MUSE's;
.gz is accepted. Prints a row for each layer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import starmap
from typing import TYPE_CHECKING

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import REQUIRED, option
from fairseq_xling.core.texts import canonical
from fairseq_xling.mapping.nearest import WAYS, parse_ways
from fairseq_xling.verbs.parts.comparison import (
    Comparison,
    ComparisonOptions,
    SearchOptions,
    Sides,
    run_comparison,
)

if TYPE_CHECKING:
    from torch import Tensor

GROUP = "Analyse"
# Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.1, with the scores of Conneau
# et al. 2018, "Word Translation Without Parallel Data", section 3.1 (P@1, P@5, P@10 over all words
# of the other language) and Liu et al. 2020, section 3.1.1 (MRR). A source word with several
# translations is scored by the best of them. Ties count as wrong.
#
# Q source words of the dictionary, C candidates, P entries in use.


@dataclasses.dataclass(frozen=True)
class _WithDictionary(ComparisonOptions):
    dictionary: str = option(REQUIRED, "words of X with translations in Y", metavar=FILE)


@dataclasses.dataclass(frozen=True)
class Options(SearchOptions, _WithDictionary):
    candidates: str = option(
        "vocabulary",
        "candidate translations: all words of Y, or those of the dictionary alone",
        choices=("vocabulary", "dictionary"),
        usage=True,
    )
    ignore_case: bool = option(False, "match entries regardless of case")
    skip_identical: bool = option(False, "leave out entries whose two words are identical")


def run(options: Options) -> None:
    run_comparison("bli", options, compare)


@dataclasses.dataclass(frozen=True)
class Entries:
    """The entries of a dictionary whose words both have vectors.

    Attributes:
        sources: (Q,) rows of the source words, each once.
        pairs: (P, 2), index into ``sources`` and row of a correct target.
        used: entries in use, of ``all``; left_out: excluded identical entries.
    """

    sources: Tensor
    pairs: Tensor
    used: int
    all: int
    left_out: int = 0


def pair_up(
    entries: Sequence[tuple[str, str]],
    source_words: Sequence[str],
    target_words: Sequence[str],
    ignore_case: bool = False,
    skip_identical: bool = False,
) -> Entries:
    """Find the rows of a dictionary's words.

    If case is ignored, a source word is the first row that it matches, which is the most frequent
    one, and every matching target row is correct.

    >>> entries = [("a", "b"), ("a", "c"), ("x", "b")]
    >>> found = pair_up(entries, ["q", "a"], ["b", "c", "d"])
    >>> found.sources.tolist(), found.pairs.tolist(), found.used, found.all
    ([1], [[0, 0], [0, 1]], 2, 3)
    """
    import torch

    def form(word: str) -> str:
        return canonical(word.casefold() if ignore_case else word)

    rows: list[dict[str, list[int]]] = [{}, {}]
    for side, words in zip(rows, (source_words, target_words), strict=True):
        for row, word in enumerate(words):
            side.setdefault(form(word), []).append(row)
    places: dict[int, int] = {}
    pairs: set[tuple[int, int]] = set()
    used = left_out = 0
    for source, target in entries:
        source, target = form(source), form(target)
        if skip_identical and source == target:
            left_out += 1
        elif source in rows[0] and target in rows[1]:
            used += 1
            place = places.setdefault(rows[0][source][0], len(places))
            pairs.update((place, row) for row in rows[1][target])
    return Entries(
        torch.tensor(list(places), dtype=torch.int64),
        torch.tensor(sorted(pairs), dtype=torch.int64).reshape(-1, 2),
        used,
        len(entries),
        left_out,
    )


def compare(sides: Sides, options: Options) -> Comparison:
    """P@1, P@5, P@10 and MRR by layer."""
    import torch

    from fairseq_xling.analysis.dictionary import read_dictionary
    from fairseq_xling.analysis.ranks import rank_scores, ranks
    from fairseq_xling.mapping.pairs import pair_key

    ways = parse_ways(options.nearest)
    words = sides.x.words, sides.y.words
    dictionary = read_dictionary(options.dictionary)
    how = options.ignore_case, options.skip_identical
    entries = pair_up(dictionary, *words, *how)
    turned = pair_up([(b, a) for a, b in dictionary], *words, *how).used
    hint = f"; in the reverse direction it has {turned:,}: give X and Y in the dictionary's order"
    hint = hint if turned > entries.used else ""
    if not entries.used:
        raise UserError(
            f"{options.dictionary}: none of its {entries.all} entries has a vector for both words "
            f"in {sides.x.path} and {sides.y.path}{hint}"
        )
    candidates = torch.arange(len(words[1]))
    if options.candidates == "dictionary":
        candidates = entries.pairs[:, 1].unique()
    place = torch.full((len(words[1]),), -1, dtype=torch.int64)
    place[candidates] = torch.arange(len(candidates))
    pairs = torch.stack([entries.pairs[:, 0], place[entries.pairs[:, 1]]], dim=1)
    curves: dict[str, list[float]] = {}
    for x, y in sides.by_layer("eval bli"):
        targets = y[candidates]
        for way in ways:
            penalty = WAYS[way](targets, x, options.k)
            rank = ranks(x[entries.sources], targets, pairs, penalty=penalty)
            for name, value in rank_scores(rank).items():
                curves.setdefault(f"{name} {way}", []).append(value)
    queries, count = len(entries.sources), len(candidates)
    seen = 0 if sides.mapping is None else sides.mapping.fitted_on(starmap(pair_key, dictionary))
    warning = (
        f"WARNING: the map was fitted on {seen:,} of these {entries.used:,} entries; measure it on "
        "words that it was not fitted on, as a dictionary split by source word has them"
    )
    skipped = f", {entries.left_out:,} identical ones left out" if options.skip_identical else ""
    return Comparison(
        title=f"Bilingual lexicon induction {sides.pair}, {sides.x.unit}: {queries:,} source words "
        f"among {count:,} candidates",
        layers=sides.layers,
        curves=curves,
        headline=f"P@1 {ways[0]}",
        unit="share of source words; MRR",
        panels={way: [name for name in curves if name.endswith(f" {way}")] for way in ways},
        chance=1 / count,
        chance_is="P@1 by chance",
        notes=[
            f"coverage: {entries.used:,} of {entries.all:,} entries have a vector for both words "
            f"({entries.used / entries.all:.1%}){skipped}{hint}",
            "a word with several translations is scored by the best of them; a tie counts as wrong",
            *[warning] * bool(seen),
        ],
        facts={
            "source words": queries,
            "candidates": count,
            "entries": {"used": entries.used, "all": entries.all, "alike": entries.left_out},
        },
    )
