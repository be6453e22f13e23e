"""A label for a sentence or a pair of sentences: linear on the first token's state.

XNLI as in Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.2, and the sentence
tasks of TreLM, Appendix A.6.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.tasks.encode import Codec, Encoded
from fairseq_xling.tasks.formats.tsv import TextItem
from fairseq_xling.tasks.heads import IGNORE, DropoutOptions, Fields, Head, heads, ratio
from fairseq_xling.tasks.offsets import on_one_line


@heads.register("classification")
class Classification(Head):
    """One of the labels of the training file."""

    help = "a label for a sentence or a pair of sentences (NLI, intents)"
    format = "tsv"
    metric = "accuracy"
    count_names = ("right", "items")
    Options = DropoutOptions

    @classmethod
    def labels_of(cls, item: TextItem) -> Mapping[str, Sequence[str]]:
        return {"label": [] if item.label is None else [item.label]}

    def encode(self, item: TextItem, codec: Codec) -> Encoded:
        ids, segments = codec.frame(item, *(codec.text(on_one_line(text)) for text in item.texts))
        number = IGNORE if item.label is None else self.number("label", item.label)
        return Encoded([ids], [segments], {"label": np.array(number)})

    def network(self, dim: int) -> nn.Module:
        return _First(dim, len(self.labels["label"]), self.options.dropout)

    def loss(self, outputs: Fields, fields: Fields) -> tuple[Tensor, Tensor]:
        logits, gold = outputs["logits"].float(), fields["label"]
        total = F.cross_entropy(logits, gold, ignore_index=IGNORE, reduction="sum")
        return total, (gold != IGNORE).sum()

    def decode(self, outputs: Fields, fields: Fields) -> list[str]:
        names = self.labels["label"]
        return [names[number] for number in outputs["logits"].argmax(-1).tolist()]

    def counts(self, item: TextItem, prediction: str) -> Sequence[float]:
        return (0.0, 0.0) if item.label is None else (float(item.label == prediction), 1.0)

    @classmethod
    def scores(cls, sums: Mapping[str, float]) -> dict[str, float]:
        return {"accuracy": ratio(sums["right"], sums["items"])}


class _First(nn.Module):
    def __init__(self, dim: int, size: int, dropout: float):
        super().__init__()
        self.dropout, self.out = nn.Dropout(dropout), nn.Linear(dim, size)

    def forward(self, states: Tensor, fields: Fields) -> dict[str, Tensor]:
        return {"logits": self.out(self.dropout(states[:, 0]))}
