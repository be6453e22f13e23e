"""How close aligned words are: their squared distance, next to that of words at random.

  fairseq-xling eval aligned tokens/de tokens/en --alignments en-de.pharaoh --swap
  fairseq-xling eval aligned tokens/de tokens/en --alignments en-de.pharaoh --swap --map de-en.map

X and Y are folders of `fairseq-xling extract --unit tokens` of a parallel text that nothing was
fitted on, of any encoders. Prints a row for each layer.
"""

import dataclasses
from pathlib import Path

from fairseq_xling.core import options as shared
from fairseq_xling.core.named_files import FILE
from fairseq_xling.core.options import REQUIRED, like, option
from fairseq_xling.core.progress import progress
from fairseq_xling.mapping.pairs.alignments import AlignmentOptions
from fairseq_xling.verbs.parts.comparison import (
    Comparison,
    ComparisonOptions,
    SearchOptions,
    Sides,
    run_comparison,
)

GROUP = "Analyse"


@dataclasses.dataclass(frozen=True)
class _Linked(ComparisonOptions):
    alignments: str = option(
        REQUIRED, "links i-j of each line, as `fairseq-xling align` writes them", metavar=FILE
    )


@dataclasses.dataclass(frozen=True)
class Options(AlignmentOptions, _Linked):
    map: str | None = like(SearchOptions, "map")
    seed: int = shared.seed(0, "seed of the words at random", "SEED")


def run(options: Options) -> None:
    run_comparison("aligned", options, compare)


def compare(sides: Sides, options: Options) -> Comparison:
    """Mean squared distances of aligned words, and of words at random, by layer.

    The quantity that the transfers of TreLM's Table 9 reduce (Cao et al., 2020, Section 3; Liu et
    al., 2019), on a parallel text that they were not fitted on. If it falls because everything
    comes closer together, the distance of words at random falls with it.
    """
    import torch

    from fairseq_xling.mapping.pairs.alignments import Alignments
    from fairseq_xling.mapping.states import States

    states = States(options.x), States(options.y)
    pairs = Alignments(*states, Path(options.alignments), options)
    curves: dict[str, list[float]] = {"aligned": [], "random": []}
    with progress(len(sides.layers), "eval aligned", "layers", checks=True) as bar:
        for layer in sides.layers:
            generator = torch.Generator().manual_seed(options.seed)
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
        unit="mean squared Euclidean distance",
        panels={"": ["aligned", "random"]},
        notes=[
            "random: each word with that of another link of the same 128 lines",
            "ratio: aligned by random; 1 if an alignment says nothing about the states",
        ],
        facts={"links": pairs.count, "seed": options.seed, **pairs.facts},
    )
