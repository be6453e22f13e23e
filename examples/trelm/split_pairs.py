"""Split a file of sentence pairs so that no sentence of one split stands in another.

    python examples/trelm/split_pairs.py FILE OUT --languages en,zh [--held-out 1000] [--seed 1]

FILE has a pair in each line, its sentences separated by a tab; further columns are not read (the
exports of Tatoeba have one). It may be compressed with gzip. OUT gets {train,val,test}.LANG.gz.

Where a sentence has several translations, all pairs that are joined by a common sentence stay
together. val and test have one pair of each such group, train has all pairs of the others.
"""

import argparse
import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fairseq_xling.errors import UserError, exits_on_user_error
from fairseq_xling.files import atomic_write, read_lines

Pair = tuple[str, str]


def read_pairs(path: Path) -> list[Pair]:
    """The first two columns."""
    found = []
    for number, line in enumerate(read_lines(path), 1):
        columns = [" ".join(one.split()) for one in line.split("\t")]
        if len(columns) < 2 or not all(columns[:2]):
            raise UserError(
                f"{path}:{number}: a line must be two sentences with a tab between them"
            )
        found.append((columns[0], columns[1]))
    return found


def groups(pairs: Sequence[Pair]) -> list[list[int]]:
    """Numbers of the pairs that are joined by common sentences, in their order.

    >>> groups([("a", "A"), ("b", "B"), ("c", "A"), ("c", "C")])
    [[0, 2, 3], [1]]
    """
    above: dict[tuple[int, str], tuple[int, str]] = {}

    def top(node: tuple[int, str]) -> tuple[int, str]:
        while above.setdefault(node, node) != node:
            above[node] = node = above[above[node]]
        return node

    for source, target in pairs:
        above[top((1, target))] = top((0, source))
    found: dict[tuple[int, str], list[int]] = {}
    for number, (source, _) in enumerate(pairs):
        found.setdefault(top((0, source)), []).append(number)
    return list(found.values())


def split(pairs: Sequence[Pair], held_out: int, seed: int) -> dict[str, list[Pair]]:
    """Pairs of each split in a random order."""
    rng = np.random.default_rng(seed)
    found = groups(pairs)
    if len(found) <= 2 * held_out:
        raise UserError(
            f"`--held-out` must leave pairs for training: {held_out:,} for each of val and test "
            f"of {len(found):,} groups of pairs with no sentence in common"
        )
    order = rng.permutation(len(found))
    one_each = [int(rng.choice(found[n])) for n in order[: 2 * held_out]]
    rest = rng.permutation([number for n in order[2 * held_out :] for number in found[n]])
    parts = {"train": rest, "val": one_each[:held_out], "test": one_each[held_out:]}
    return {name: [pairs[int(number)] for number in numbers] for name, numbers in parts.items()}


def write(folder: Path, name: str, languages: Sequence[str], pairs: Iterable[Pair]) -> None:
    for lang, sentences in zip(languages, zip(*pairs, strict=True), strict=True):
        text = "".join(sentence + "\n" for sentence in sentences).encode()
        with atomic_write(folder / f"{name}.{lang}.gz") as file:
            file.write(gzip.compress(text, mtime=0))  # without a date: the same bytes each time


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", metavar="FILE", type=Path)
    parser.add_argument("output", metavar="OUT", type=Path)
    parser.add_argument("--languages", required=True, help="codes of the two columns, as en,zh")
    parser.add_argument("--held-out", type=int, default=1000, help="pairs of val and of test")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    languages = args.languages.split(",")
    if len(set(languages)) != 2:
        raise UserError(f"`--languages` must be two codes, got {args.languages!r}")
    if args.held_out < 1:
        raise UserError(f"`--held-out` must be at least 1, got {args.held_out}")
    found = split(read_pairs(args.pairs), args.held_out, args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    for name, pairs in found.items():
        write(args.output, name, languages, pairs)
        print(f"{name}: {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
