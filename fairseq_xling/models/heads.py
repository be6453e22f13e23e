"""From states to logits: the output layer of a language model, tied to the token embeddings."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_xling.core.registry import Registry
from fairseq_xling.models.layer import activations

lm_heads: Registry = Registry("LM head")


_ALIGNED = 64  # rows of a table that a GPU's fast kernels of a product ask for a multiple of


def project(x: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    """Logits (..., V) of states (..., D) over all of ``embeddings`` (V, D).

    On a GPU the product has rows of zeros up to a multiple of 64: without them, the gradient of a
    vocabulary of 32,004 words takes an H100 a kernel of two generations ago.
    """
    more = -len(embeddings) % _ALIGNED
    if not (more and x.is_cuda):
        return F.linear(x, embeddings, bias)
    padded = F.linear(x, F.pad(embeddings, (0, 0, 0, more)), F.pad(bias, (0, more)))
    return padded[..., : len(embeddings)]


def listed(x: Tensor, embeddings: Tensor, bias: Tensor, tokens: Tensor) -> Tensor:
    """Logits (R, S, C) of states (R, S, D) for the ``tokens`` (R, C) of each row."""
    table = F.embedding(tokens, embeddings)
    return torch.baddbmm(bias[tokens][:, None], x, table.transpose(1, 2))


@lm_heads.register("linear")
class LinearHead(nn.Module):
    """logits = x E^T + b, with E the token embeddings (Emerging Cross-lingual Structure, 3.1)."""

    def __init__(self, dim: int, vocab_size: int, norm_eps: float = 1e-5, activation: str = "gelu"):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        self.project, self.project_listed = project, listed  # `models.reading` has others

    def forward(self, x: Tensor, embeddings: Tensor, tokens: Tensor | None = None) -> Tensor:
        """(n, D) states and (V, D) embeddings to (n, V) logits; with ``tokens`` (R, C), (R, S, D)
        states to (R, S, C) logits of each row's own tokens."""
        if tokens is None:
            return self.project(x, embeddings, self.bias)
        return self.project_listed(x, embeddings, self.bias, tokens)


@lm_heads.register("bert")
class BertHead(LinearHead):
    """BERT's head: dense, the layers' activation and LayerNorm before the tied product.

    Devlin et al., 2019.
    """

    def __init__(self, dim: int, vocab_size: int, norm_eps: float = 1e-5, activation: str = "gelu"):
        super().__init__(dim, vocab_size, norm_eps)
        self.dense, self.activation = nn.Linear(dim, dim), activations[activation]
        self.norm = nn.LayerNorm(dim, norm_eps)

    def forward(self, x: Tensor, embeddings: Tensor, tokens: Tensor | None = None) -> Tensor:
        x = self.transform(x, self.dense, self.norm, self.activation)
        return super().forward(x, embeddings, tokens)

    @staticmethod
    def transform(
        x: Tensor, dense: nn.Module, norm: nn.Module, activation: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """What becomes of states (..., D) before the product."""
        return norm(activation(dense(x)))
