"""Put parallel text into the layout that `fairseq-xling ablate --data-text` reads.

English takes the odd and the other language the even pairs of the training text, so that no
training sentence has a translation on the other side; validation text is taken whole, and the test
text is what retrieval searches in. `--other` cuts a second text into sentences (setting A2).
"""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.languages import parse_languages
from fairseq_xling.core.texts import read_lines

_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-ZÄÖÜ])")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


def read_pairs(files: list[str]) -> list[tuple[str, str]]:
    sides = [list(read_lines(file)) for file in files]
    if len(sides[0]) != len(sides[1]):
        counts = " and ".join(str(len(side)) for side in sides)
        raise UserError(f"{' and '.join(files)} must have equally many lines, got {counts}")
    return [(a, b) for a, b in zip(*sides, strict=True) if a.strip() and b.strip()]


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="folder to write")
    parser.add_argument("--languages", default="en,de", help="of the two sides")
    for split in ("train", "valid", "test"):
        parser.add_argument(f"--{split}", nargs=2, required=True, metavar=("A", "B"))
    parser.add_argument("--dictionary", help="two words a line, between blanks or a tab")
    parser.add_argument("--other", nargs=2, metavar=("FOLDER", "TEXT"), help="second text")
    args = parser.parse_args()
    first, second = parse_languages(args.languages)
    train = read_pairs(args.train)
    write_lines(args.output / "mono" / f"train.{first}.txt", (a for a, _ in train[::2]))
    write_lines(args.output / "mono" / f"train.{second}.txt", (b for _, b in train[1::2]))
    for side, lang in enumerate((first, second)):
        valid = (pair[side] for pair in read_pairs(args.valid))
        write_lines(args.output / "mono" / f"valid.{lang}.txt", valid)
        test = (pair[side] for pair in read_pairs(args.test))
        write_lines(args.output / "parallel" / f"test.{first}-{second}.{lang}.txt", test)
    if args.dictionary:
        entries = (line.split() for line in read_lines(args.dictionary))
        pairs = ("\t".join(entry[:2]) for entry in entries if len(entry) >= 2)
        write_lines(args.output / "dictionary" / f"{first}-{second}.tsv", pairs)
    if args.other:
        folder, text = args.other
        sentences = (s for line in read_lines(text) for s in _SENTENCE_END.split(line) if s.strip())
        write_lines(Path(folder) / "mono" / f"train.{second}.txt", sentences)


if __name__ == "__main__":
    main()
