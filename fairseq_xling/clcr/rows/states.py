"""states: all words in their own encoder's states, before T."""

from torch import Tensor

from fairseq_xling.clcr.rows import View, rows
from fairseq_xling.clcr.rows.transformed import TransformedRow


@rows.register("states")
class StatesRow(TransformedRow):
    """Sequences as long as the sentences, in the space of their own language."""

    @property
    def width(self) -> int:
        return self.model.widths[self.side]

    def vectors(self, view: View) -> Tensor:
        return view.states
