"""The classifier of pairs of mentions on a dependency tree (the transfer note, section 3).

Words x_i = [v_i; p_i; t_i; r_i] (the features that are chosen) pass a network; maxima over the
words of the two mentions and of the whole graph, z = [m_a; m_s; m_b], pass two ReLU layers and a
linear one. Symbols as in `fairseq_xling.papers.transfer.structures.batch`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from fairseq_xling.papers.transfer.structures.batch import Batch
from fairseq_xling.papers.transfer.structures.data import ModelSettings
from fairseq_xling.papers.transfer.structures.networks import dropped, networks


class StructureModel(nn.Module):
    """Scores of labels for each candidate; ``inputs`` is the width of x.

    Args:
        vectors: D, the width of word vectors; 0 without them.
        rows: of each learnt feature, its rows with that of unknown names.
        labels: how many, `NONE` among them.
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

    def nodes(self, batch: Batch) -> list[Tensor]:
        """x, (N, inputs), in two parts: the word vector, which is frozen, and the learnt features
        by name of their tables."""
        learnt = [table(row) for table, row in zip(self.tables.values(), batch.rows, strict=True)]
        return [batch.vectors, torch.cat(learnt, -1)] if learnt else [batch.vectors]

    def forward(self, batch: Batch) -> Tensor:
        """(C, labels), unnormalised."""
        if self.settings.prune >= 0:
            batch = batch.pruned(self.settings.prune)
        x = [dropped(part, self.settings.dropout, self.training) for part in self.nodes(batch)]
        states = self.network(x, batch.heads, batch.sizes)
        mentions = _maxima(*_spans(states, batch.spans.view(-1, 2)))
        parts = [mentions[::2], mentions[1::2]]
        if self.settings.sentence_vector:
            parts.insert(1, _maxima(states, batch.sizes)[batch.graph])
        return self.classifier(torch.cat(parts, -1))


def _spans(states: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
    """The states of the words of each span, (M, outputs), and their numbers, (C,)."""
    sizes = spans[:, 1] - spans[:, 0]
    firsts = torch.repeat_interleave(spans[:, 0] - sizes.cumsum(0) + sizes, sizes)
    words = firsts + torch.arange(len(firsts), device=firsts.device)
    return states.index_select(0, words), sizes


def _maxima(states: Tensor, sizes: Tensor) -> Tensor:
    """Over the first ``sizes[0]`` rows, the ``sizes[1]`` rows after them, and so on."""
    rows = torch.repeat_interleave(sizes, output_size=len(states))
    return _Maxima.apply(states, rows, len(sizes))


class _Maxima(torch.autograd.Function):
    """The maxima of rows of equal number, each column by itself; rows that have the same maximum
    share its gradient. Torch's own takes three times as long backwards."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: Tensor, count: int) -> Tensor:
        lowest = x.new_full((count, x.shape[1]), -torch.inf)
        found = lowest.scatter_reduce_(0, rows[:, None].expand_as(x), x, "amax")
        ctx.save_for_backward(x, rows, found)
        return found

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        x, rows, found = ctx.saved_tensors
        highest = found.index_select(0, rows).le_(x)  # 1 or 0
        shares = torch.zeros_like(found).scatter_add_(0, rows[:, None].expand_as(x), highest)
        return highest.mul_((gradient / shares).index_select(0, rows)), None, None
