"""Vector translation: does adding two languages' mean difference retrieve a sentence's translation?

  fairseq-xling eval meanshift states/en states/de --held-out 0.5 --seed 0

X and Y are folders of `fairseq-xling extract --unit sentences`, of any encoders of one width; line
n of one text translates line n of the other. The mean difference is that of the sentences that are
not held out. Prints accuracy before and after adding it, for each layer.
"""

import dataclasses

from fairseq_xling.core import options as shared
from fairseq_xling.core.options import option
from fairseq_xling.core.ranges import Range
from fairseq_xling.verbs.parts.comparison import (
    Comparison,
    ComparisonOptions,
    Sides,
    run_comparison,
)

GROUP = "Analyse"
# Pires et al. 2019, "How Multilingual is Multilingual BERT?", section 5.


@dataclasses.dataclass(frozen=True)
class Options(ComparisonOptions):
    held_out: float = option(
        0.5,
        "share of the pairs to test on",
        range=Range(0, 1, above=True, below=True),
        metavar="SHARE",
    )
    seed: int = shared.seed(0, "seed of the split", "SEED")
    random_direction: int | None = shared.random_direction()


def run(options: Options) -> None:
    run_comparison("meanshift", options, compare)


def compare(sides: Sides, options: Options) -> Comparison:
    """Accuracy by layer on held-out sentences, before and after the mean difference is added."""
    from fairseq_xling.analysis.extracted import check_same_rows
    from fairseq_xling.analysis.vector_translation import split_pairs, vector_translation

    for folder in (sides.x, sides.y):
        folder.check_sentences()
    check_same_rows(sides.x, sides.y)
    learnt, tested = map(len, split_pairs(sides.x.rows, options.held_out, options.seed))
    control, split = options.random_direction, (options.held_out, options.seed)
    curves: dict[str, list[float]] = {"before": [], "after": []}
    for x, y in sides.by_layer("eval meanshift"):
        found = vector_translation(x[None], y[None], *split, control=control)
        ((before, after),) = found.tolist()
        curves["before"].append(before)
        curves["after"].append(after)
    added = f"the mean difference of the {learnt:,} other pairs"
    if control is not None:
        added = f"a random direction of seed {control}, as long as {added},"
    return Comparison(
        title=f"Vector translation {sides.pair}: accuracy on {tested:,} held-out sentences",
        layers=sides.layers,
        curves=curves,
        headline="after",
        unit="accuracy (share of sentences)",
        panels={"": ["before", "after"]},
        chance=1 / tested,
        chance_is="chance",
        notes=[
            f"nearest of the held-out {sides.y.lang} sentences by Euclidean distance, a tie counts "
            f"as wrong; after: with {added} added",
            f"chance: {1 / tested:.3g}; split of seed {options.seed}",
        ],
        facts={"learnt from": learnt, "tested on": tested, "seed": options.seed}
        | ({} if control is None else {"random direction": control}),
    )
