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

from fairseq_xling.data.mmap import TokenFile, first_outside, same_sizes
from fairseq_xling.errors import MALFORMED, UserError
from fairseq_xling.files import read_json

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
        except MALFORMED:
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
        if not same_sizes(order, sides[1]):
            raise UserError(
                f"{self.path}: was made from other text than that of {sides[1].prefix}; label again"
            )
        if len(sides[0]) < len(order):
            raise UserError(f"{self.path}: has more sentences than {sides[0].prefix}; label again")
        if (found := first_outside(order, sides[0])) is not None:
            sentence, pivot, length = found
            raise UserError(
                f"{order.prefix}.bin: sentence {sentence} has a pivot at token {pivot} of the "
                f"{length} in {sides[0].prefix}; label again"
            )
        return order
