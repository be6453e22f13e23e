"""Sentence retrieval between two folders of sentences: P@1 by layer, in both directions.

  fairseq-xling eval tatoeba states/en states/de --output tatoeba.json --figure tatoeba.svg

X and Y are folders of `fairseq-xling extract --unit sentences`, of any encoders; line n of one text
translates line n of the other. Prints a row for each layer.
"""

import dataclasses

from fairseq_xling.verbs.parts.comparison import (
    Comparison,
    ComparisonOptions,
    SearchOptions,
    Sides,
    run_comparison,
)

GROUP = "Analyse"
# Conneau et al. 2020, "Emerging Cross-lingual Structure", section 5.1.3: P@1 of nearest-neighbour
# search by cosine, layer by layer, on Tatoeba there. A tie counts as wrong.


@dataclasses.dataclass(frozen=True)
class Options(SearchOptions, ComparisonOptions):
    """Both sides, and how the nearest sentence is found."""


def run(options: Options) -> None:
    run_comparison("tatoeba", options, compare)


def compare(sides: Sides, options: Options) -> Comparison:
    """P@1 by layer, in both directions and their mean."""
    from fairseq_xling.analysis.extracted import check_same_rows
    from fairseq_xling.analysis.ranks import right_answers
    from fairseq_xling.core.errors import UserError
    from fairseq_xling.mapping.nearest import paired_accuracy, parse_ways

    ways = parse_ways(options.nearest)
    for folder in (sides.x, sides.y):
        folder.check_sentences()
    check_same_rows(sides.x, sides.y)
    count = sides.x.rows
    if count < 2:
        raise UserError(f"{sides.x.path}: retrieval needs at least 2 sentences, got {count}")
    x_lines, y_lines, repeats, repeated = sides.x.lines, sides.y.lines, (None, None), 0
    if x_lines is not None and y_lines is not None:
        repeats, repeated = right_answers(x_lines.tolist(), y_lines.tolist())
    names = [f"{way} {what}" for way in ways for what in ("forward", "backward", "mean")]
    curves: dict[str, list[float]] = {name: [] for name in names}
    for x, y in sides.by_layer("eval tatoeba"):
        for way in ways:
            forward, backward = paired_accuracy(x, y, way, options.k, repeats)
            curves[f"{way} mean"].append((forward + backward) / 2)
            curves[f"{way} forward"].append(forward)
            curves[f"{way} backward"].append(backward)
    return Comparison(
        title=f"Sentence retrieval {sides.pair}, P@1 of {count:,} sentences",
        layers=sides.layers,
        curves=curves,
        headline=f"{ways[0]} mean",
        unit="P@1 (share of sentences)",
        panels={"": [name for name in names if not name.endswith("mean")]},
        chance=1 / count,
        chance_is="chance",
        notes=[
            f"forward: the queries are sentences of {sides.x.path}, the candidates those of "
            f"{sides.y.path}",
            f"chance: {1 / count:.3g}; a tie counts as wrong",
            *[f"{repeated} lines repeat another of their side; each of equal lines is right"]
            * bool(repeated),
        ],
        facts={"sentences": count},
    )
