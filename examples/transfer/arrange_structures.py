"""Prepare what 5_structures.sh reads.

    python examples/transfer/arrange_structures.py vectors TEXT OUT
    python examples/transfer/arrange_structures.py kbp37 DATA OUT --records 4000

`vectors` writes word vectors of one space from the dictionaries of the embedded corpus TEXT: a
random vector for each English word; a word of another language has the mean of those of its
translations. It stands for vectors that were mapped by a perfect dictionary. `kbp37` draws records
from each split of DATA/kbp37 (at most that many for training, a quarter for the others, seed 1),
and writes them as they are, and as a text with its label for the head `classification`.
"""

import argparse
from pathlib import Path

import numpy as np

from fairseq_xling.errors import exits_on_user_error
from fairseq_xling.files import atomic_write, read_lines

_WIDTH = 100


def arrange_vectors(text: Path, output: Path) -> None:
    """{LANG}.vec for English and the language of each dictionary."""
    pairs = {}
    for path in sorted((text / "dictionary").glob("en-*.tsv")):
        pairs[path.stem[3:]] = [line.split("\t")[:2] for line in read_lines(path)]
    english = sorted({source for rows in pairs.values() for source, _ in rows})
    drawn = np.random.default_rng(1).normal(size=(len(english), _WIDTH)) / 10
    vectors = dict(zip(english, drawn, strict=True))
    write_vectors(output / "en.vec", vectors)
    for lang, rows in pairs.items():
        sources: dict[str, list[str]] = {}
        for source, word in rows:
            sources.setdefault(word, []).append(source)
        means = {w: np.mean([vectors[s] for s in own], axis=0) for w, own in sources.items()}
        write_vectors(output / f"{lang}.vec", means)


def write_vectors(path: Path, vectors: dict[str, np.ndarray]) -> None:
    """Words of several words cannot stand in such a file."""
    with atomic_write(path, "w") as file:
        for word, values in vectors.items():
            if " " not in word:
                file.write(f"{word} {' '.join(f'{value:.4f}' for value in values)}\n")


def arrange_kbp37(data: Path, output: Path, records: int) -> None:
    """{train,dev,test}.txt and .tsv."""
    for split, most in (("train", records), ("dev", records // 4), ("test", records // 4)):
        lines = list(read_lines(data / "kbp37" / f"{split}.txt.gz"))
        starts = [n for n, line in enumerate(lines[:-1]) if "\t" in line]
        rng = np.random.default_rng(1)
        chosen = np.sort(rng.choice(len(starts), min(most, len(starts)), replace=False))
        kept = [(lines[starts[n]], lines[starts[n] + 1].strip()) for n in chosen]
        with atomic_write(output / f"{split}.txt", "w") as file:
            file.writelines(f"{text}\n{label}\n\n\n" for text, label in kept)
        with atomic_write(output / f"{split}.tsv", "w") as file:
            texts = (text.split("\t", 1)[1].strip().strip('"').strip() for text, _ in kept)
            file.writelines(f"{x}\t{label}\n" for x, (_, label) in zip(texts, kept, strict=True))


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["vectors", "kbp37"])
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--records", type=int, default=4000)
    args = parser.parse_args()
    if args.what == "vectors":
        arrange_vectors(args.source, args.output)
    else:
        arrange_kbp37(args.source, args.output, args.records)


if __name__ == "__main__":
    main()
