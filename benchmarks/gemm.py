"""The matrix products of a training step by themselves: the time no implementation can undercut.

B sequences, T tokens each, D width, F feed-forward width, V vocabulary, n predicted tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Product:
    """``count`` products (batch, m, k) x (batch, k, n) in a forward pass."""

    m: int
    k: int
    n: int
    batch: int = 1
    count: int = 1

    @property
    def flops(self) -> int:
        """Floating-point operations, forward and backward: two more products of the same size."""
        return 3 * 2 * self.batch * self.m * self.k * self.n * self.count


def encoder_products(
    tokens: int,
    length: int,
    predicted: int,
    *,
    layers: int,
    dim: int,
    ffn_dim: int,
    heads: int,
    vocab: int,
) -> list[Product]:
    """The products of one step of a masked language model with BERT's head.

    ``tokens`` is B T, and ``length`` is T.
    """
    sequences = heads * max(1, round(tokens / length))
    return [
        Product(tokens, dim, 3 * dim, count=layers),
        Product(length, dim // heads, length, sequences, layers),
        Product(length, length, dim // heads, sequences, layers),
        Product(tokens, dim, dim, count=layers),
        Product(tokens, dim, ffn_dim, count=layers),
        Product(tokens, ffn_dim, dim, count=layers),
        Product(predicted, dim, dim),
        Product(predicted, dim, vocab),
    ]


def product_steps(products: list[Product], dtype: torch.dtype, device: str) -> Callable[[], None]:
    """A function that does every product of the step once, forward and backward."""
    made = []
    for p in products:
        shape = [p.batch] if p.batch > 1 else []
        x = torch.randn(*shape, p.m, p.k, device=device).to(dtype)
        w = torch.randn(*shape, p.k, p.n, device=device).to(dtype)
        g = torch.randn(*shape, p.m, p.n, device=device).to(dtype)
        made.append((x, w, g, p.count))

    def run() -> None:
        for x, w, g, count in made:
            for _ in range(count):
                torch.matmul(x, w)
                torch.matmul(g, w.transpose(-1, -2))
                torch.matmul(x.transpose(-1, -2), g)

    return run
