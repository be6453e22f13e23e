"""Vector translation between two folders of sentences: see `vector_translation`.

Pires et al. 2019, "How Multilingual is Multilingual BERT?", section 5.
"""

import argparse

from fairseq_xling.analysis.extracted import check_same_rows
from fairseq_xling.analysis.vector_translation import split_pairs, vector_translation
from fairseq_xling.verbs.comparisons import Comparison, Sides


def compare(sides: Sides, args: argparse.Namespace) -> Comparison:
    """Accuracy by layer on held-out sentences, before and after the mean difference is added.

    Args:
        args: ``held_out`` (a share), ``seed``.

    Raises:
        UserError: unless both folders have equally many sentences, and enough.
    """
    for folder in (sides.x, sides.y):
        folder.check_sentences()
    check_same_rows(sides.x, sides.y)
    learnt, tested = map(len, split_pairs(sides.x.rows, args.held_out, args.seed))
    curves: dict[str, list[float]] = {"before": [], "after": []}
    for x, y in sides.by_layer("eval meanshift"):
        ((before, after),) = vector_translation(x[None], y[None], args.held_out, args.seed).tolist()
        curves["before"].append(before)
        curves["after"].append(after)
    return Comparison(
        title=f"Vector translation {sides.pair}: accuracy on {tested:,} held-out sentences",
        layers=sides.layers,
        curves=curves,
        headline="after",
        ylabel="accuracy (share of sentences)",
        panels={"": ["before", "after"]},
        chance=(1 / tested, "chance"),
        notes=[
            f"nearest of the held-out {sides.y.lang} sentences by Euclidean distance, a tie counts "
            f"as wrong; after: with the mean difference of the {learnt:,} other pairs added",
            f"chance: {1 / tested:.3g}; split of seed {args.seed}",
        ],
        details={"learnt from": learnt, "tested on": tested, "seed": args.seed},
    )
