"""Ordering key-points: beam search on tensors and the same beam search in plain Python.

    python benchmarks/order_search.py [--device cuda]

Sentences have a gold order. For an absolute order a key-point's logits are those of a Gaussian
around its gold position, with noise; for a relative order the log-odds of pairs have noise that
puts one pair in ten on the wrong side. All begin with a tensor of costs and end with ranks. That
both beams find the same orders is checked first; other searches are compared with them.
"""

import argparse
import heapq
from collections.abc import Callable

import torch
from common import Step, heading, table, take_turns, turn_arguments
from torch import Tensor

from fairseq_xling.models.ordering.beam import CANDIDATES
from fairseq_xling.models.ordering.relative import disagreement
from fairseq_xling.models.ordering.search import HIGHEST, UNIT, arrange, assign
from fairseq_xling.papers.clcr.evaluation import ngrams_kept

System = Callable[[Tensor], Tensor]  # costs (B, K, K) to ranks (B, K)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--key-points", type=int, default=40, help="of each sentence")
    parser.add_argument("--beam", type=int, default=10, help="hypotheses kept")
    parser.add_argument("--batch-size", type=int, default=64)
    turn_arguments(parser)
    return parser.parse_args()


def costs_of(args: argparse.Namespace) -> tuple[Tensor, dict[str, list[Tensor]]]:
    """Gold positions (B, K), and for each kind of order the costs (B, K, K) in batches."""
    generator = torch.Generator().manual_seed(args.seed)
    shape = (args.sentences, args.key_points, args.key_points)
    gold = torch.rand(shape[:2], generator=generator).argsort(1)
    off = (torch.arange(args.key_points) - gold[..., None]).float()
    logits = -(off**2) / 2 + torch.randn(shape, generator=generator)
    noise = torch.randn(shape, generator=generator)
    # Log-odds of a pair that is seen with Gaussian noise: 1.28 deviations are one in ten.
    margin = 1.28 * (gold[:, None] - gold[:, :, None]).sign()
    scores = 2 * 1.28 * (margin + (noise - noise.transpose(1, 2)) / 2**0.5)
    kinds = {"absolute": -logits.log_softmax(-1), "relative": disagreement(scores, "likelihood")}
    split = {k: list(v.to(args.device).split(args.batch_size)) for k, v in kinds.items()}
    return gold, split


def plain_beam(first: list[int], change: Callable[[int, int], list[int]], width: int) -> list[int]:
    """Ranks of one sentence, as `fairseq_xling.models.ordering.beam` finds them.

    Args:
        first: what each key-point costs at the first position.
        change: of the step and the key-point that it placed: what each costs more after it.
    """
    size = len(first)
    beam = [(0, (), frozenset(), first)]
    for step in range(size):
        grown = [
            (cost + ahead[item], number, item)
            for number, (cost, _, placed, ahead) in enumerate(beam)
            for item in range(size)
            if item not in placed
        ]
        sets, kept = set(), []
        for cost, number, item in heapq.nsmallest(CANDIDATES * width, grown):
            _, order, placed, ahead = beam[number]
            placed = placed | {item}
            if placed in sets or len(kept) == width:
                continue
            sets.add(placed)
            if step + 1 < size:
                ahead = [a + b for a, b in zip(ahead, change(step, item), strict=True)]
            kept.append((cost, (*order, item), placed, ahead))
        beam = kept
    ranks = [0] * size
    for position, item in enumerate(beam[0][1]):
        ranks[item] = position
    return ranks


def counted(costs: Tensor) -> Tensor:
    return (costs.double().clamp(max=HIGHEST) / UNIT).round().long()


def plain_absolute(costs: Tensor, width: int) -> Tensor:
    found = []
    for rows in counted(costs).tolist():

        def change(step: int, item: int, rows: list[list[int]] = rows) -> list[int]:
            return [row[step + 1] - row[step] for row in rows]

        found.append(plain_beam([row[0] for row in rows], change, width))
    return torch.tensor(found)


def plain_relative(costs: Tensor, width: int) -> Tensor:
    found = []
    for rows in counted(costs).tolist():
        size = range(len(rows))
        more = [[rows[i][j] - min(rows[i][j], rows[j][i]) for j in size] for i in size]
        fall = [[-row[item] for row in more] for item in size]

        def change(step: int, item: int, fall: list[list[int]] = fall) -> list[int]:
            return fall[item]

        found.append(plain_beam([sum(row) for row in more], change, width))
    return torch.tensor(found)


def ours(problem: Callable, search: str, width: int) -> System:
    def system(costs: Tensor) -> Tensor:
        lengths = torch.full((len(costs),), costs.shape[1], device=costs.device)
        return problem(costs, lengths, search=search, width=width).ranks

    return system


def systems(width: int) -> dict[str, dict[str, System]]:
    """By kind of order and name; the first two of a kind find the same."""
    return {
        "absolute": {
            f"beam {width}": ours(assign, "beam", width),
            f"beam {width}, plain Python": lambda costs: plain_absolute(costs, width),
            "greedy": ours(assign, "beam", 1),
            "hungarian": ours(assign, "hungarian", 1),
        },
        "relative": {
            f"beam {width}": ours(arrange, "beam", width),
            f"beam {width}, plain Python": lambda costs: plain_relative(costs, width),
            "greedy": ours(arrange, "beam", 1),
            "local": ours(arrange, "local", 1),
        },
    }


def check(gold: Tensor, kind: str, batches: list[Tensor], chosen: dict[str, System]) -> list[float]:
    """The share of bigrams that each system keeps."""
    found = [torch.cat([system(costs).cpu() for costs in batches]) for system in chosen.values()]
    if not torch.equal(found[0], found[1]):
        raise SystemExit(f"the beam in plain Python finds other {kind} orders")
    shares = []
    for ranks in found:
        kept, count = ngrams_kept(ranks, gold, 2)
        shares.append(float(kept.sum() / count.sum()))
    return shares


def turns(batches: list[Tensor], system: System) -> Step:
    """A step that orders one batch; the next step takes the next one."""
    number = 0

    def step() -> tuple[int, int]:
        nonlocal number
        costs = batches[number % len(batches)]
        number += 1
        system(costs)
        return len(costs), len(costs)

    return step


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    gold, kinds = costs_of(args)
    every = systems(args.beam)
    shares = {kind: check(gold, kind, kinds[kind], every[kind]) for kind in kinds}
    results = take_turns(
        args,
        {
            f"{kind}: {name}": turns(kinds[kind], system)
            for kind in kinds
            for name, system in every[kind].items()
        },
    )
    print(heading("order_search.py", args.device))
    print(f"{args.sentences} sentences of {args.key_points} key-points")
    rows = []
    for kind, chosen in every.items():
        plain = results[f"{kind}: beam {args.beam}, plain Python"]
        for name, share in zip(chosen, shares[kind], strict=True):
            result = results[f"{kind}: {name}"]
            rows.append(
                [
                    f"{kind}: {name}",
                    f"{result.median:,.0f}",
                    f"{result.spread:.0%}",
                    f"{result.median / plain.median:.1f}",
                    f"{share:.3f}",
                ]
            )
    header = ["order: search", "sentences/s", "spread", "x plain Python", "bigrams kept"]
    print("\n" + table(header, rows))


if __name__ == "__main__":
    main()
