"""Split a file of sentence pairs into training and validation text, a file for each side.

Pairs that repeat a sentence of either side go; so do those with a sentence of `--without`, on which
something will be measured. What is left is shuffled.
"""

import argparse
import random
from pathlib import Path

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import read_lines


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", help="two sentences a line, between a tab; more columns go")
    parser.add_argument("output", type=Path, help="folder to write SPLIT.LANG into")
    parser.add_argument("--languages", default="en,zh", help="of the two columns")
    parser.add_argument("--valid", type=int, default=500, help="pairs of validation text")
    parser.add_argument("--without", nargs="*", default=[], help="files of sentences to leave out")
    args = parser.parse_args()
    left_out = {line.strip() for file in args.without for line in read_lines(file)}
    kept: list[list[str]] = []
    seen: set[tuple[int, str]] = set()
    for number, line in enumerate(read_lines(args.pairs), start=1):
        pair = [side.strip() for side in line.split("\t")[:2]]
        if len(pair) < 2 or not all(pair):
            raise UserError(f"{args.pairs}:{number}: must hold two sentences, got {line!r}")
        sides = set(enumerate(pair))
        if not seen & sides and not left_out & set(pair):
            kept.append(pair)
        seen |= sides
    random.Random(1).shuffle(kept)
    for split, part in (("valid", kept[: args.valid]), ("train", kept[args.valid :])):
        for side, lang in enumerate(args.languages.split(",")):
            with atomic_write(args.output / f"{split}.{lang}", "w") as file:
                file.writelines(pair[side] + "\n" for pair in part)
    print(f"{args.output}: {len(kept):,} pairs")


if __name__ == "__main__":
    main()
