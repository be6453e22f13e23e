"""T+pGA-target: pseudo-gold pivots of the reordered language alone, all words of the other.

The paper's figures suggest that its row T+pGA was read so (CLCR, Table 4): its score in the
language trained on is that of T. A model is trained on row T; of the sentences of the other
language, at test, the pivots are kept, in the order of their partners, and the rest is dropped.
"""

from fairseq_xling.clcr.rows import Chosen, View, in_text_order, rows
from fairseq_xling.clcr.rows.pseudo_gold import PseudoGoldRow


@rows.register("T+pGA-target")
class PseudoGoldTargetRow(PseudoGoldRow):
    """The language that is not reordered has the sequences of row T, to the last bit."""

    def __call__(self, view: View) -> Chosen:
        return super().__call__(view) if self.moves else in_text_order(view.content)
