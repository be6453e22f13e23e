"""Sentences with paraphrases from English and Chinese pairs, for 5_paraphrases.sh.

    python examples/analysis/arrange_paraphrases.py PAIRS OUT --held-out 1000

PAIRS has an English and a Chinese sentence in each line, a tab between, as Tatoeba's files have.
English sentences with the same Chinese translation are paraphrases of each other. OUT gets the
layout of `fairseq-xling synthesize`, in small letters. `--held-out` lines each of the validation
and of the test text are an English and a Chinese sentence; `{valid,test}.paraphrases` has another
translation of the Chinese one, `{valid,test}.shuffled` the same in another order. Training text is
all other sentences.
"""

import argparse
import random
from pathlib import Path

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import read_lines


def arrange(pairs: Path, output: Path, held_out: int) -> None:
    """See above."""
    english: dict[str, list[str]] = {}
    for number, line in enumerate(read_lines(pairs), start=1):
        columns = line.lower().split("\t")
        if len(columns) < 2:
            raise UserError(f"{pairs}:{number}: must be two sentences with a tab between")
        first, second = columns[:2]
        if first not in (own := english.setdefault(second, [])):
            own.append(first)
    draw = random.Random(1)
    several = [chinese for chinese, own in english.items() if len(own) > 1]
    draw.shuffle(several)
    # Each English sentence is held out once, since a line must have one right answer.
    used: set[str] = set()
    kept = []
    for chinese in several:
        if not used & set(english[chinese]):
            used |= {*english[chinese]}
            kept.append((chinese, *draw.sample(english[chinese], 2)))
    if len(kept) < 2 * held_out:
        raise UserError(f"`--held-out` must be at most {len(kept) // 2}, got {held_out}")
    parts = {"valid": kept[:held_out], "test": kept[held_out : 2 * held_out]}
    held = {text for rows in parts.values() for row in rows for text in row}
    rest = [chinese for chinese in english if chinese not in held]
    texts = dict.fromkeys(text for chinese in rest for text in english[chinese])
    write(output / "mono" / "train.en.txt", [text for text in texts if text not in used])
    write(output / "mono" / "train.zh.txt", rest)
    for split, rows in parts.items():
        chinese, first, second = map(list, zip(*rows, strict=True))
        for lang, lines in (("en", first), ("zh", chinese)):
            write(output / "mono" / f"{split}.{lang}.txt", lines)
            write(output / "parallel" / f"{split}.en-zh.{lang}.txt", lines)
        write(output / f"{split}.paraphrases", second)
        write(output / f"{split}.shuffled", draw.sample(second, len(second)))


def write(path: Path, lines: list[str]) -> None:
    with atomic_write(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--held-out", type=int, default=1000)
    args = parser.parse_args()
    arrange(args.pairs, args.output, args.held_out)


if __name__ == "__main__":
    main()
