"""Bring sets with forms of their own into those that the heads and encoders read.

    python examples/transfer/arrange_tasks.py sick jsick.tsv OUT
    python examples/transfer/arrange_tasks.py xsid FOLDER OUT --languages en,de
    python examples/transfer/arrange_tasks.py lower en/train.conll.gz OUT --column 1
    python examples/transfer/arrange_tasks.py words en/train.conll.gz en.txt --column 1

SICK with its Japanese translation (jsick) becomes `{train,trial}.{en,ja}.tsv`: premise, hypothesis,
label. xSID becomes `slots.SPLIT.LANG.conll` (word, slot) and `intents.SPLIT.LANG.tsv` (utterance,
intent). Utterances with a tag that is none, or with an empty word, are left out and counted.
`lower` writes a file again, plain, with one column in small letters; OUT/NAME is its name, after
that of its folder if that is a language. `words` writes the words of one column, a sentence a line.
"""

import argparse
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import read_lines
from fairseq_xling.tasks.formats.conll import Conll
from fairseq_xling.tasks.spans import is_bio

Utterance = tuple[list[str], list[str], str]  # words, slots, intent


def write_lines(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)


def arrange_sick(file: str, output: Path) -> None:
    """SICK and JSICK; the label is each language's own."""
    rows = list(csv.DictReader(read_lines(file), delimiter="\t", quoting=csv.QUOTE_NONE))
    for lang, ending in (("en", "En"), ("ja", "Ja")):
        names = (f"sentence_A_{ending}", f"sentence_B_{ending}", f"entailment_label_{ending}")
        missing = [name for name in ("data", *names) if not rows or name not in rows[0]]
        if missing:
            raise UserError(f"{file}: must have a column {missing[0]!r}")
        for split in ("train", "trial"):
            chosen = ("\t".join(row[n] for n in names) for row in rows if row["data"] == split)
            write_lines(output / f"{split}.{lang}.tsv", chosen)


def read_train(path: Path) -> Iterator[Utterance]:
    """Columns text, slots, intent below a line of headings."""
    for number, line in enumerate(read_lines(path), start=1):
        row = line.split("\t")
        if number > 1 and len(row) == 3:
            yield row[0].split(), row[1].split(), row[2]


def read_valid(path: Path) -> Iterator[Utterance]:
    """Columns number, word, intent, slot; a blank line after each utterance."""
    rows: list[list[str]] = []
    for line in [*read_lines(path), ""]:
        if line and not line.startswith("# "):
            rows.append(line.split("\t"))
        elif not line and rows:
            yield [row[1] for row in rows], [row[3] for row in rows], rows[0][2]
            rows = []


def arrange_xsid(folder: Path, output: Path, languages: list[str]) -> None:
    """English training utterances, and validation in every language."""
    files = [("train", "en", read_train(folder / "en.train.tsv.gz"))]
    for lang in languages:
        files.append(("valid", lang, read_valid(folder / f"{lang}.valid.conll.gz")))
    for split, lang, utterances in files:
        kept, left_out = [], 0
        for words, slots, intent in utterances:
            sound = len(words) == len(slots) and all(map(is_bio, slots))
            if sound and all(word.strip() for word in words):
                kept.append((words, slots, intent))
            else:
                left_out += 1
        tagged = (
            "".join(f"{word}\t{slot}\n" for word, slot in zip(words, slots, strict=True))
            for words, slots, _ in kept
        )
        write_lines(output / f"slots.{split}.{lang}.conll", tagged)
        texts = (f"{' '.join(words)}\t{intent}" for words, _, intent in kept)
        write_lines(output / f"intents.{split}.{lang}.tsv", texts)
        print(f"{split} {lang}: {len(kept):,} utterances, {left_out:,} left out")


def write_lower(file: Path, output: Path, column: int) -> None:
    """The words of a file with columns in small letters."""
    name = file.name.removesuffix(".gz")
    if len(file.parent.name) == 2:
        name = f"{file.parent.name}.{name}"
    rows = (line.split("\t") for line in read_lines(file))
    write_lines(
        output / name,
        (
            "\t".join(cell.lower() if place == column else cell for place, cell in enumerate(row))
            for row in rows
        ),
    )


def write_words(file: Path, output: Path, column: int) -> None:
    """The words of a file with columns as text."""
    items = Conll.read(file, {"token": str(column)})
    write_lines(output, (" ".join(item.words) for item in items))


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("sick", "xsid", "lower", "words"))
    parser.add_argument("given", help="the file, or the folder (xsid)")
    parser.add_argument("output", type=Path, help="folder to write; of words, the file")
    parser.add_argument("--languages", default="en,de,id,zh,ja", help="of xSID's validation sets")
    parser.add_argument("--column", type=int, default=0, help="that of the words (lower, words)")
    args = parser.parse_args()
    if args.kind == "sick":
        arrange_sick(args.given, args.output)
    elif args.kind == "lower":
        write_lower(Path(args.given), args.output, args.column)
    elif args.kind == "words":
        write_words(Path(args.given), args.output, args.column)
    else:
        arrange_xsid(Path(args.given), args.output, args.languages.split(","))


if __name__ == "__main__":
    main()
