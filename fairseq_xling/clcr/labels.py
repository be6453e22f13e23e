"""A folder of pseudo-gold pivots, as written by `fairseq-xling clcr label` for one split.

pivots.pharaoh   a line of links ``i-j`` for each sentence pair: token i of the first language
                 and j of the second, counted from 0 over the data folder's tokens, no </s>
distances.npy    (n,) float32, d_ij of the links in their order
order.{bin,idx}  for each token of the second language, </s> included, the index + 1 of its
                 pivot in the first, or 0: read by training, mapped
meta.json        settings, counts, provenance
"""

from pathlib import Path
from typing import Any

import numpy as np

from fairseq_xling.data.mmap import TokenFile
from fairseq_xling.errors import UserError
from fairseq_xling.files import read_json

_BLOCK = 50_000  # sentences that are processed together
META, PHARAOH, DISTANCES, ORDER = "meta.json", "pivots.pharaoh", "distances.npy", "order"


class Labels:
    """A finished folder of pivots.

    Raises:
        UserError: if it is missing, or was not finished.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        if not (self.path / META).is_file():
            raise UserError(f"{path}: no pivots; `fairseq-xling clcr label` writes them")
        self.meta: dict[str, Any] = read_json(self.path / META)
        try:
            self.pair = tuple(self.meta["settings"]["pair"])
            self.threshold = float(self.meta["settings"]["threshold"])
            self.pivots = int(self.meta["pivots"])
        except (KeyError, TypeError, ValueError):
            raise UserError(f"{path}: not a folder of `fairseq-xling clcr label`") from None

    @property
    def kind(self) -> str:
        """The kind of its pivots: gold ones, of a word alignment, or pseudo-gold ones."""
        return "gold pivots" if self.meta["settings"].get("gold") else "pseudo-gold pivots"

    def order(self, sides: tuple[TokenFile, TokenFile], pair: tuple[str, str]) -> TokenFile:
        """The pivots by tokens of the second side.

        Raises:
            UserError: if they were made from other text, or for the other direction.
        """
        if self.pair != tuple(pair):
            raise UserError(
                f"{self.path}: its pairs are of {'-'.join(self.pair)}, not of {'-'.join(pair)}"
            )
        order = TokenFile(self.path / ORDER)
        if len(order) != len(sides[1]) or not np.array_equal(order.sizes, sides[1].sizes):
            raise UserError(
                f"{self.path}: was made from other text than that of {sides[1].prefix}; label again"
            )
        for start in range(0, len(order), _BLOCK):
            self._check_links(order, sides[0], start)
        return order

    def _check_links(self, order: TokenFile, source: TokenFile, start: int) -> None:
        partners, sizes = order.block(start, start + _BLOCK)
        lengths = source.sizes[start : start + _BLOCK]
        if len(lengths) < len(sizes):
            raise UserError(f"{self.path}: has more sentences than {source.prefix}; label again")
        wrong = (partners < 0) | (partners > np.repeat(lengths, sizes))
        if wrong.any():
            place = int(np.argmax(wrong))
            row = int(np.searchsorted(np.cumsum(sizes), place, "right"))
            raise UserError(
                f"{order.prefix}.bin: sentence {start + row + 1} has a pivot at token "
                f"{partners[place]} of the {lengths[row]} in {source.prefix}; label again"
            )
