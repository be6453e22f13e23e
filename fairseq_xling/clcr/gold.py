"""Gold pivots: the finest common granularity of a word alignment, as a folder of labels.

Pseudo-gold pivots (`fairseq-xling clcr label`) are measured against these if the alignment is
known. A block of one token on each side is a pivot. A larger block can be represented by any of its
tokens: the pseudo-gold pivot in it, if there is one, else its first link. So the choice of a token
within a block does not matter; pivots outside all blocks, and blocks without a pivot, count as
errors.
"""

from pathlib import Path

import numpy as np

from fairseq_xling.clcr.granularity import Blocks, blocks_of_pairs, finest_blocks
from fairseq_xling.clcr.label import gold_links
from fairseq_xling.clcr.labels import META, ORDER, PHARAOH, Labels
from fairseq_xling.data.folder import DataFolder
from fairseq_xling.data.mmap import write_items
from fairseq_xling.files import atomic_write, write_json
from fairseq_xling.text.links import Links, format_pharaoh

Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]  # row, token of s1, token of s2, (n,) each


def gold_pivots(blocks: Blocks, links: Pairs, found: Pairs) -> Pairs:
    """A pair for each of ``blocks``, which are those of ``links``, in their order.

    Args:
        found: pseudo-gold pivots.

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

    Raises:
        UserError: if there are no labels, or the split has no word alignment.
    """
    pseudo, output = Labels(labels), Path(output)
    split = pseudo.meta["settings"]["split"]
    sides = folder.parallel(split, *pseudo.pair)
    links = gold_links(folder, split, pseudo.pair)
    blocks = finest_blocks(*links)
    found = _pairs(pseudo.order(sides, pseudo.pair))
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


def _pairs(order: object) -> Pairs:
    values, sizes = order.block(0, len(order))  # type: ignore[attr-defined]
    row = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(values)) - (np.cumsum(sizes) - sizes)[row]
    linked = values > 0
    return row[linked], values[linked].astype(np.int64) - 1, place[linked]
