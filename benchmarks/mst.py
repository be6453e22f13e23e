"""Decoding dependency trees: ours in batches and Chu-Liu-Edmonds in plain Python.

    python benchmarks/mst.py [--device cuda]

Sentences have lengths like those of UD English-EWT, in batches of like length. Scores are random
(greedy choice is hardly ever a tree), or peaked on a tree as those of a trained parser are. Both
systems begin with a tensor of scores and end with the same sums, which is checked first.
"""

import argparse
from collections.abc import Callable

import numpy as np
import torch
from common import Step, heading, table, take_turns, turn_arguments

from fairseq_xling.tasks.arcs import best_tree, best_trees

Batch = tuple[torch.Tensor, torch.Tensor]  # scores (B, N, N), lengths (B,)
Arcs = dict[int, dict[int, float]]  # by dependent and head


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=64)
    turn_arguments(parser)
    return parser.parse_args()


def batches(args: argparse.Namespace, peaked: bool) -> list[Batch]:
    """Sentences in order of their lengths; EWT's logarithms have mean 2.37 and deviation 0.96."""
    rng = np.random.default_rng(args.seed)
    drawn = np.exp(rng.normal(2.37, 0.96, args.sentences))
    lengths = np.sort(np.clip(np.round(drawn), 1, 159).astype(int))
    made = []
    for start in range(0, len(lengths), args.batch_size):
        sizes = lengths[start : start + args.batch_size]
        scores = rng.normal(size=(len(sizes), sizes[-1] + 1, sizes[-1] + 1))
        for number, size in enumerate(sizes if peaked else ()):
            order = rng.permutation(size) + 1
            for place, word in enumerate(order):
                head = 0 if place == 0 else order[rng.integers(place)]
                # One word in a hundred is no clearer than by chance.
                scores[number, word, head] += 15 * (rng.random() > 0.01)
        tensor = torch.from_numpy(scores).float().to(args.device)
        made.append((tensor, torch.from_numpy(sizes).to(args.device)))
    return made


def textbook(scores: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
    """Sentence by sentence; again with a large cost of root arcs where there is a second root."""
    found = []
    for rows, size in zip(scores.tolist(), lengths.tolist(), strict=True):
        arcs = {
            word: {head: rows[word][head] for head in range(size + 1) if head != word}
            for word in range(1, size + 1)
        }
        heads = chu_liu_edmonds(arcs)
        if sum(head == 0 for head in heads.values()) > 1:
            values = [value for choices in arcs.values() for value in choices.values()]
            cost = 1 + size * (max(values) - min(values))
            for choices in arcs.values():
                choices[0] -= cost
            heads = chu_liu_edmonds(arcs)
        found.append([heads[word] for word in range(1, size + 1)])
    return found


def chu_liu_edmonds(arcs: Arcs) -> dict[int, int]:
    """The best head of each dependent, in a tree; recursive."""
    heads = {word: max(choices, key=choices.__getitem__) for word, choices in arcs.items()}
    cycle = find_cycle(heads)
    if not cycle:
        return heads
    inside, new = set(cycle), max(arcs) + 1
    inner: Arcs = {new: {}}
    entered, left = {}, {}
    for word, choices in arcs.items():
        if word in inside:
            for head, value in choices.items():
                gain = value - choices[heads[word]]
                if head not in inside and gain > inner[new].get(head, -np.inf):
                    inner[new][head], entered[head] = gain, word
            continue
        inner[word] = {head: value for head, value in choices.items() if head not in inside}
        left[word] = max(cycle, key=choices.__getitem__)
        inner[word][new] = choices[left[word]]
    found = chu_liu_edmonds(inner)
    heads = {word: left[word] if head == new else head for word, head in found.items()} | {
        word: heads[word] for word in cycle
    }
    head = heads.pop(new)
    heads[entered[head]] = head
    return heads


def find_cycle(heads: dict[int, int]) -> list[int]:
    """The words of one, or none."""
    seen: dict[int, int] = {0: 0}
    for start in heads:
        word = start
        while word not in seen:
            seen[word] = start
            word = heads[word]
        if word and seen[word] == start:
            cycle = [word]
            while heads[cycle[-1]] != word:
                cycle.append(heads[cycle[-1]])
            return cycle
    return []


def contracted(scores: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
    """Ours without its greedy part."""
    dense = scores.double().cpu().numpy()
    return [
        best_tree(one[: size + 1, : size + 1])[1:].tolist()
        for one, size in zip(dense, lengths.tolist(), strict=True)
    ]


def ours(scores: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
    rows = best_trees(scores, lengths).tolist()
    return [row[:size] for row, size in zip(rows, lengths.tolist(), strict=True)]


SYSTEMS = {"ours": ours, "ours, never greedy": contracted, "plain Python": textbook}


def check(made: list[Batch]) -> float:
    """All find trees of the same sums; returns the share of sentences where greedy heads do."""
    greedy = 0
    for scores, lengths in made:
        dense, sizes = scores.cpu().numpy().copy(), lengths.tolist()
        sums = {
            name: np.array(
                [
                    one[np.arange(1, len(heads) + 1), heads].sum()
                    for one, heads in zip(dense, system(scores, lengths), strict=True)
                ]
            )
            for name, system in SYSTEMS.items()
        }
        for name, found in sums.items():
            if not np.allclose(found, sums["plain Python"], atol=1e-3):
                raise SystemExit(f"{name} finds trees with other sums")
        for one, size, best in zip(dense, sizes, sums["ours"], strict=True):
            np.fill_diagonal(one, -np.inf)
            greedy += bool(np.isclose(one[1 : size + 1, : size + 1].max(1).sum(), best, atol=1e-3))
    return greedy / sum(len(lengths) for _, lengths in made)


def turns(made: list[Batch], system: Callable) -> Step:
    """A step that decodes everything once."""

    def step() -> tuple[int, int]:
        done = sum(len(system(scores, lengths)) for scores, lengths in made)
        return done, done

    return step


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    kinds = {kind: batches(args, kind == "peaked") for kind in ("random", "peaked")}
    shares = {kind: check(made) for kind, made in kinds.items()}
    results = take_turns(
        args,
        {
            f"{kind}: {name}": turns(made, system)
            for kind, made in kinds.items()
            for name, system in SYSTEMS.items()
        },
    )
    print(heading("mst.py", args.device))
    sizes = torch.cat([lengths for _, lengths in kinds["random"]]).float()
    print(f"{args.sentences} sentences of {sizes.mean():.1f} words (the longest {sizes.max():.0f})")
    for kind, share in shares.items():
        print(f"{kind} scores: greedy heads are the best tree of {share:.1%} of the sentences")
    rows = []
    for name, result in results.items():
        peer = results[f"{name.split(':')[0]}: plain Python"]
        rows.append(
            [
                name,
                f"{1e5 / result.median:.2f}",
                f"{result.spread:.0%}",
                f"{result.median / peer.median:.1f}",
            ]
        )
    print("\n" + table(["scores: system", "ms / 100 sentences", "spread", "x plain Python"], rows))


if __name__ == "__main__":
    main()
