"""Write the gold pivots of a split from its word alignment, and measure pseudo-gold ones by them.

    python examples/clcr/gold_pivots.py DATA LABELS/test GOLD/test

GOLD has the form of a folder of `fairseq-xling clcr label`; `clcr measure keypoints` and `order`
read it as LABELS.

Gold pivots are those of the finest common granularity of a word alignment, in a folder of the same
form; pseudo-gold pivots are measured against these if the alignment is known. A block of one token
on each side is a pivot. A larger block can be represented by any of its tokens: the pseudo-gold
pivot in it, if there is one, else its first link. So the choice of a token within a block does not
matter; pivots outside all blocks, and blocks without a pivot, count as errors.
"""

import argparse
from pathlib import Path

import numpy as np

from fairseq_xling.core.errors import exits_on_user_error
from fairseq_xling.core.files import atomic_write, write_json
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import write_items
from fairseq_xling.papers.clcr.labels import (
    META,
    ORDER,
    PHARAOH,
    Labels,
    TokenPairs,
    gold_links,
    linked_tokens,
)
from fairseq_xling.papers.clcr.pivots import Blocks, blocks_of_pairs, finest_blocks
from fairseq_xling.text.links import Links, format_pharaoh


def gold_pivots(blocks: Blocks, links: TokenPairs, found: TokenPairs) -> TokenPairs:
    """A pair for each of ``blocks``, which are those of ``links``, in their order; ``found`` are
    pseudo-gold pivots.

    >>> links = [np.array(x) for x in ([0, 0, 0], [0, 1, 1], [0, 1, 2])]
    >>> found = [np.array(x) for x in ([0, 0], [1, 2], [2, 0])]  # the second is in no block
    >>> [x.tolist() for x in gold_pivots(finest_blocks(*links), links, found)]
    [[0, 0], [0, 1], [0, 2]]
    """
    candidates = [np.concatenate(pair) for pair in zip(found, links, strict=True)]
    block = blocks_of_pairs(blocks, *candidates)
    inside = block >= 0
    _, first = np.unique(block[inside], return_index=True)
    row, source, target = (part[inside][first] for part in candidates)
    return row, source, target


def write_gold(folder: DataFolder, labels: str | Path, output: str | Path) -> dict[str, float]:
    """Write the gold pivots against which ``labels`` (a split's folder of `clcr label`) can be
    measured; returns the precision, recall and F1 of ``labels``, in [0, 1].
    """
    pseudo, output = Labels(labels), Path(output)
    split = pseudo.meta["settings"]["split"]
    sides = folder.parallel(split, *pseudo.pair)
    links = gold_links(folder, split, pseudo.pair)
    blocks = finest_blocks(*links)
    found = linked_tokens(pseudo.order(sides, pseudo.pair))
    row, source, target = gold_pivots(blocks, links, found)
    sizes = sides[1].sizes
    order = np.zeros(int(sizes.sum()), dtype="<i4")
    order[(np.cumsum(sizes) - sizes)[row] + target] = source + 1
    output.mkdir(parents=True, exist_ok=True)
    write_items(output / ORDER, np.split(order, np.cumsum(sizes)[:-1]), order.dtype)
    with atomic_write(output / PHARAOH) as file:
        file.write(format_pharaoh(Links(len(sizes), row, source, target)))
    settings = {"pair": list(pseudo.pair), "split": split, "threshold": 0.0, "gold": str(labels)}
    place = blocks_of_pairs(blocks, *found)
    right, hit = int((place >= 0).sum()), len(np.unique(place[place >= 0]))
    precision, recall = right / max(len(place), 1), hit / max(len(blocks.row), 1)
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    shares = {"precision": precision, "recall": recall, "f1": f1}
    write_json(
        output / META,
        {
            "settings": settings,
            "sentences": len(sizes),
            "pivots": len(row),
            "tokens": [int(side.sizes.sum()) - len(side) for side in sides],
            "pseudo_gold": shares,
        },
    )
    return shares


@exits_on_user_error
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="data folder whose split has a word alignment")
    parser.add_argument("labels", help="folder of `fairseq-xling clcr label`, of that split")
    parser.add_argument("output", help="folder to write")
    args = parser.parse_args()
    found = write_gold(DataFolder(args.data), args.labels, args.output)
    print("pseudo-gold: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
