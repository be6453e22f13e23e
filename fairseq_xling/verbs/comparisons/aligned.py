"""How far apart aligned words are, and words at random, in two folders of tokens.

The quantity that the transfers of TreLM's Table 9 reduce (Cao et al., 2020, Section 3; Liu et al.,
2019): the squared Euclidean distance of aligned words of a parallel text, that they were not
fitted on. If it falls because everything comes closer together, the distance of words at random
falls with it.

P pairs of a block, E width of the common space.
"""

import argparse
from pathlib import Path

from fairseq_xling.mapping.pairs.alignments import AlignmentOptions, Alignments
from fairseq_xling.mapping.states import States
from fairseq_xling.options import values_of
from fairseq_xling.progress import progress
from fairseq_xling.verbs.comparisons import Comparison, Sides


def compare(sides: Sides, args: argparse.Namespace) -> Comparison:
    """Mean squared distances by layer.

    Args:
        args: ``x`` and ``y`` (folders of tokens), ``alignments``, ``seed``, and the fields of
            `AlignmentOptions`.

    Raises:
        UserError: for folders that are not of tokens of a parallel text, or links that they do not
            have.
    """
    import torch

    states = States(args.x), States(args.y)
    pairs = Alignments(*states, Path(args.alignments), values_of(AlignmentOptions, args))
    curves: dict[str, list[float]] = {"aligned": [], "random": []}
    with progress(len(sides.layers), "eval aligned", "layers", checks=True) as bar:
        for layer in sides.layers:
            generator = torch.Generator().manual_seed(args.seed)
            sums, counts = dict.fromkeys(curves, 0.0), dict.fromkeys(curves, 0)
            for chosen in pairs:
                x, y = sides.in_common(
                    *(s.take(layer, c) for s, c in zip(states, chosen, strict=True)), layer
                )
                others = {"aligned": y}
                if len(y) > 1:  # each with the word of another pair of its block
                    shift = int(torch.randint(1, len(y), (), generator=generator))
                    others["random"] = y.roll(shift, 0)
                for name, other in others.items():
                    sums[name] += float((x - other).square().sum())
                    counts[name] += len(x)
            for name, values in curves.items():
                values.append(sums[name] / max(counts[name], 1))
            bar.update()
    curves["ratio"] = [
        near / far if far else 0.0 for near, far in zip(*curves.values(), strict=True)
    ]
    return Comparison(
        title=f"Squared distance of aligned words {sides.pair}: {pairs.count:,} links",
        layers=sides.layers,
        curves=curves,
        headline="ratio",
        ylabel="mean squared Euclidean distance",
        panels={"": ["aligned", "random"]},
        notes=[
            "random: each word with that of another link of the same 128 lines",
            "ratio: aligned by random; 1 if an alignment says nothing about the states",
        ],
        details={"links": pairs.count, "seed": args.seed, **pairs.facts},
    )
