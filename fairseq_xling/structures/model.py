"""The classifier of pairs of mentions on a dependency tree (the transfer note, section 3).

Words x_i = [v_i; p_i; t_i; r_i] (the features that are chosen) pass a network; maxima over the
words of the two mentions and of the whole graph, z = [m_a; m_s; m_b], pass two ReLU layers and a
linear one. Symbols as in `fairseq_xling.structures.batch`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.structures.batch import Batch
from fairseq_xling.structures.networks import networks
from fairseq_xling.structures.settings import ModelSettings


class StructureModel(nn.Module):
    """Scores of labels for each candidate.

    Args:
        vectors: D, the width of word vectors; 0 without them.
        rows: of each learnt feature, its rows with that of unknown names.
        labels: how many, `NONE` among them.
        settings: sizes and kinds.

    Attributes:
        inputs: width of x.
    """

    def __init__(self, vectors: int, rows: dict[str, int], labels: int, settings: ModelSettings):
        super().__init__()
        self.settings = settings
        self.tables = nn.ModuleDict(
            {name: nn.Embedding(size, settings.embedding) for name, size in rows.items()}
        )
        self.inputs = vectors + settings.embedding * len(rows)
        self.network = networks[settings.network](
            self.inputs, settings.layers, settings.width, settings.dropout
        )
        maxima = 3 if settings.sentence_vector else 2
        self.classifier = nn.Sequential(
            nn.Linear(maxima * self.network.outputs, settings.hidden),
            nn.ReLU(),
            nn.Linear(settings.hidden, settings.hidden),
            nn.ReLU(),
            nn.Linear(settings.hidden, labels),
        )

    def nodes(self, batch: Batch) -> Tensor:
        """x, (R, T, inputs): the word vector, then the learnt features by name of their tables."""
        learnt = [table(row) for table, row in zip(self.tables.values(), batch.rows, strict=True)]
        return torch.cat([batch.vectors, *learnt], -1)

    def forward(self, batch: Batch) -> Tensor:
        """(C, labels), unnormalised."""
        if self.settings.prune >= 0:
            batch = batch.pruned(self.settings.prune)
        x = F.dropout(self.nodes(batch), self.settings.dropout, self.training)
        states = self.network(x, batch.heads, batch.mask)
        whole = _maxima(states, batch.mask)[batch.graph]
        own = states[batch.graph]
        parts = [_maxima(own, batch.a), _maxima(own, batch.b)]
        if self.settings.sentence_vector:
            parts.insert(1, whole)
        return self.classifier(torch.cat(parts, -1))


def _maxima(states: Tensor, chosen: Tensor) -> Tensor:
    """Over the chosen words: (C, T, D) and (C, T) to (C, D)."""
    return states.masked_fill(~chosen[:, :, None], -torch.inf).amax(1)
