"""Lay out real English and German text for `fairseq-xling ablate emerging-structure`.

Needs the folder with multi30k, mono_eltec and muse_dict (see the README beside this file):

    python examples/emerging_structure/1_real_text.py ../shared/data text

writes `text/captions` (multi30k: English from the first half of the training captions, German from
the second, so that no sentence is seen in both languages; its validation and test captions, which
are parallel, for choosing and scoring; MUSE's en-de dictionary) and `text/novels` (sentences of 5
to 40 words from German novels: the other domain of setting A2). Other data: give `prepare` files in
the same layout.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fairseq_xling.errors import exits_on_user_error
from fairseq_xling.files import atomic_write, read_lines

LANGUAGES = ("en", "de")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÄÖÜ„»\"])")


def sentences(paragraphs: Iterable[str], shortest: int = 5, longest: int = 40) -> Iterator[str]:
    """Sentences of ``shortest`` to ``longest`` words, cut at final punctuation.

    >>> list(sentences(["Er ging. Dann kam sie mit dem Hund zurück!"]))
    ['Dann kam sie mit dem Hund zurück!']
    """
    for paragraph in paragraphs:
        for sentence in _SENTENCE_END.split(paragraph.strip()):
            if shortest <= len(sentence.split()) <= longest:
                yield sentence


def write(path: Path, lines: Iterable[str]) -> None:
    with atomic_write(path, "w") as file:
        for line in lines:
            file.write(line + "\n")


@exits_on_user_error
def main(data: Path, output: Path) -> None:
    """Write both folders from the files in ``data``."""
    captions = output / "captions"
    for number, lang in enumerate(LANGUAGES):
        train = list(read_lines(data / "multi30k" / f"train.{lang}.gz"))
        half = len(train) // 2
        write(captions / "mono" / f"train.{lang}.txt", train[number * half : (number + 1) * half])
        for split, name in (("valid", "val"), ("test", "test_2016_flickr")):
            lines = list(read_lines(data / "multi30k" / f"{name}.{lang}.gz"))
            write(captions / "mono" / f"{split}.{lang}.txt", lines)
            write(captions / "parallel" / f"{split}.en-de.{lang}.txt", lines)
    pairs = [line.split() for line in read_lines(data / "muse_dict" / "en-de.0-5000.txt.gz")]
    tsv = ("\t".join(pair) for pair in pairs if len(pair) == 2)
    write(captions / "dictionary" / "en-de.tsv", tsv)
    novels = sentences(read_lines(data / "mono_eltec" / "de.txt.gz"))
    write(output / "novels" / "mono" / "train.de.txt", novels)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
