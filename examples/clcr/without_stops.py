"""Copy text, alignments, labelled pairs and trees without the full stops at the ends of sentences.

    python examples/clcr/without_stops.py FOLDER OUT [--names 'nli.*,roles.*']

A stop stands in every sentence of the embedded corpus, and so, nearly, does an article. D is as low
where a transform has taken one for the other, so it is chance which of them a training finds.
"""

import argparse
import fnmatch
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import UserError, exits_on_user_error
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import read_lines
from fairseq_xling.text.links import Links, format_pharaoh, parse_pharaoh

STOPS = (" .", " 。", "。")


def without_stop(sentence: str) -> str:
    """The sentence without its stop; one that is nothing else stays.

    >>> without_stop("the dog barked ."), without_stop("狗叫了。"), without_stop("why ?")
    ('the dog barked', '狗叫了', 'why ?')
    """
    for stop in STOPS:
        if sentence.endswith(stop) and sentence != stop:
            return sentence.removesuffix(stop)
    return sentence


def copy_links(file: Path, output: Path) -> None:
    """Copy ``SPLIT.A-B[.words].pharaoh`` without the links of A's stops, which are those of B's."""
    split, pair = file.name.split(".")[:2]
    first = file.with_name(f"{split}.{pair}.{pair.partition('-')[0]}.txt")
    stops = [len(s.split()) - 1 if without_stop(s) != s else -1 for s in read_lines(first)]
    links = parse_pharaoh(file.read_bytes(), str(file))
    kept = links.source != np.array(stops)[links.row]
    fewer = Links(links.rows, links.row[kept], links.source[kept], links.target[kept])
    with atomic_write(output) as out:
        out.write(format_pharaoh(fewer))


def copy_trees(file: Path, output: Path) -> None:
    """Copy CoNLL-U without the tokens that are stops: they are last, and nothing hangs on them."""
    stops = {stop.strip() for stop in STOPS}
    with atomic_write(output, "w") as out:
        for line in read_lines(file):
            if not stops.intersection(line.split("\t")[1:2]):
                out.write(line + "\n")


def copy_lines(file: Path, output: Path) -> None:
    """Copy text, or columns of text."""
    with atomic_write(output, "w") as out:
        for line in read_lines(file):
            out.write("\t".join(map(without_stop, line.split("\t"))) + "\n")


COPY = {".pharaoh": copy_links, ".conllu": copy_trees}  # by ending, else `copy_lines`


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--names", default="*.txt,*.pharaoh", help="files to copy, with commas")
    args = parser.parse_args()
    patterns = args.names.split(",")
    files = sorted(
        file
        for file in args.folder.rglob("*")
        if file.is_file() and any(fnmatch.fnmatch(file.name, name) for name in patterns)
    )
    if not files:
        raise UserError(f"{args.folder}: has no file like {args.names}")
    for file in files:
        output = args.out / file.relative_to(args.folder)
        output.parent.mkdir(parents=True, exist_ok=True)
        COPY.get(file.suffix, copy_lines)(file, output)


if __name__ == "__main__":
    main()
