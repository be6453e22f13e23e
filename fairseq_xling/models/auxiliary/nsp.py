"""Next sentence prediction: whether the second segment follows the first (Devlin et al., 2019).

The secondary objective of TreLM's third phase, for BERT only (Section 3.2). BERT's pooler, a dense
layer with tanh on the first token's state, comes before the two classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.data.sources import NEXT
from fairseq_xling.models.auxiliary import AuxiliaryHead, View, auxiliary_heads
from fairseq_xling.models.encoder import EncoderShape


@auxiliary_heads.register("nsp")
class NextSentenceHead(AuxiliaryHead):
    """Two classes from the state of ``<s>``; loss: cross-entropy per example."""

    def __init__(self, shape: EncoderShape, num_languages: int):
        super().__init__(shape, num_languages)
        self.pooler = nn.Linear(shape.dim, shape.dim)
        self.output = nn.Linear(shape.dim, 2)

    def forward(self, view: View) -> tuple[Tensor, Tensor]:
        logits = self.logits(view.final)
        labels = view.extra.get("next")
        if labels is None:
            return logits.sum() * 0.0, logits.new_zeros(())
        asked = (labels[:, 0] > 0).nonzero()[:, 0]  # once: a GPU is waited for
        gold = (labels[:, 0] == NEXT).long()
        loss = F.cross_entropy(logits[asked].float(), gold[asked], reduction="sum")
        return loss, loss.new_full((), len(asked), dtype=torch.long)

    def logits(self, final: Tensor) -> Tensor:
        """(B, 2): not next, next; from the final states (B, U, D)."""
        return self.output(torch.tanh(self.pooler(final[:, 0])))
