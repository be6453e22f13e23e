"""Split a file of sentence pairs so that no sentence of one split stands in another.

    python examples/trelm/split_pairs.py FILE OUT --languages en,zh [--held-out 1000] [--seed 1]

FILE has a pair in each line, its sentences separated by a tab; further columns are not read. It may
be compressed with gzip. OUT gets {train,val,test}.LANG.gz.

Sentences are the same if they differ only in case or in the width of characters. Where one has
several translations, all pairs that are joined by a common sentence stay together. val and test
have one pair of each such group, train has all pairs of the others.
"""

import argparse
import gzip
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.ranges import COUNT, SEED, Number
from fairseq_xling.core.texts import read_lines

# In the order in which they are written: the last one shows that all are there.
SPLITS = ("train", "val", "test")
Pair = tuple[str, ...]


def read_pairs(path: Path) -> list[Pair]:
    """The first two columns."""
    found = []
    for number, line in enumerate(read_lines(path), 1):
        pair = tuple(" ".join(side.split()) for side in line.split("\t")[:2])
        if len(pair) < 2 or not all(pair):
            raise UserError(
                f"{path}:{number}: must be two sentences with a tab between them, got {line!r}"
            )
        found.append(pair)
    return found


def groups(pairs: Sequence[Pair]) -> list[np.ndarray]:
    """Numbers of the pairs that are joined by common sentences."""
    places: dict[tuple[int, str], int] = {}  # a node for each sentence of each side
    edges = np.array(
        [
            [places.setdefault((side, _same(text)), len(places)) for side, text in enumerate(pair)]
            for pair in pairs
        ]
    )
    shape = len(places), len(places)
    graph = sparse.coo_array((np.ones(len(pairs)), (edges[:, 0], edges[:, 1])), shape=shape)
    of = connected_components(graph, directed=False)[1][edges[:, 0]]
    order = np.argsort(of, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(of[order])) + 1)


def _same(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def split(pairs: Sequence[Pair], held_out: int, seed: int) -> dict[str, list[Pair]]:
    """Pairs of each of `SPLITS` in a random order."""
    rng = np.random.default_rng(seed)
    found = groups(pairs) if pairs else []
    if len(found) <= 2 * held_out:
        raise UserError(
            f"`--held-out` must leave pairs for training: {held_out:,} for each of val and test "
            f"of {len(found):,} groups of pairs with no sentence in common"
        )
    order = rng.permutation(len(found))
    one_each = [int(rng.choice(found[n])) for n in order[: 2 * held_out]]
    rest = rng.permutation(np.concatenate([found[n] for n in order[2 * held_out :]]))
    parts = (rest, one_each[:held_out], one_each[held_out:])
    return {
        name: [pairs[number] for number in numbers]
        for name, numbers in zip(SPLITS, parts, strict=True)
    }


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
    parser.add_argument(
        "--held-out",
        type=Number(int, COUNT),
        default=1000,
        help="pairs of val, and of test (default: 1000)",
    )
    parser.add_argument("--seed", type=SEED, default=1, help="(default: 1)")
    args = parser.parse_args()
    languages = parse_languages(args.languages)
    if len(languages) != 2:
        raise UserError(f"`--languages` must be two codes, got {args.languages!r}")
    found = split(read_pairs(args.pairs), args.held_out, args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    for name, pairs in found.items():
        write(args.output, name, languages, pairs)
        print(f"{name}: {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
