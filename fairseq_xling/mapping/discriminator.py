"""The discriminator of adversarial mapping, with its gradients written out.

Conneau et al. 2018, "Word Translation Without Parallel Data", section 3.1: a multilayer perceptron
with two hidden layers of 2048 units, LeakyReLU of slope 0.2, input dropout of 0.1, smoothed
labels, plain SGD. Written out, an update needs no autograd and is one in-place product per matrix:
the weights, most of the memory traffic, are read once.

Symbols: ``B`` rows of a batch, ``D`` width, ``H`` hidden units.
"""

import torch
from torch import Tensor

_SLOPE = 0.2


class Discriminator:
    """P(1 | x) of a vector's origin: 1 = mapped, 0 = from the fixed space.

    Args:
        width: D.
        hidden: H.
        dropout: probability that a coordinate of the input is dropped in training.
        generator: draws the initial weights, uniform in +-1/sqrt(rows), and the dropout.
    """

    def __init__(self, width: int, hidden: int, dropout: float, generator: torch.Generator):
        self.dropout = dropout
        self._generator = generator
        sizes = [(width, hidden), (hidden, hidden), (hidden, 1)]
        self.weights = [self._uniform(rows, (rows, columns)) for rows, columns in sizes]
        self.biases = [self._uniform(rows, (columns,)) for rows, columns in sizes]

    def _uniform(self, rows: int, shape: tuple[int, ...]) -> Tensor:
        device = self._generator.device
        drawn = torch.rand(shape, generator=self._generator, device=device)
        return (2 * drawn - 1) / rows**0.5

    def logits(self, x: Tensor) -> Tensor:
        """ln P(1|x) - ln P(0|x), (B,), without dropout, for rows (B, D)."""
        return self._forward(x)[-1]

    def update(self, x: Tensor, labels: Tensor, lr: float) -> None:
        """One step of SGD on the mean cross entropy of ``labels`` (B,) in [0, 1] given ``x``."""
        if self.dropout:
            kept = torch.rand(x.shape, generator=self._generator, device=x.device) >= self.dropout
            x = x * kept / (1 - self.dropout)
        first, second, logits = self._forward(x)
        error = self._error(logits, labels)
        back_second = self._back(error @ self.weights[2].T, second)
        back_first = self._back(back_second @ self.weights[1].T, first)
        inputs, errors = (x, first, second), (back_first, back_second, error)
        for weight, bias, value, gradient in zip(
            self.weights, self.biases, inputs, errors, strict=True
        ):
            weight.addmm_(value.T, gradient, alpha=-lr)
            bias.add_(gradient.sum(0), alpha=-lr)

    def input_gradient(self, x: Tensor, labels: Tensor) -> Tensor:
        """Gradient (B, D) of the mean cross entropy with respect to ``x``, without dropout."""
        first, second, logits = self._forward(x)
        error = self._error(logits, labels)
        back = self._back(error @ self.weights[2].T, second)
        back = self._back(back @ self.weights[1].T, first)
        return back @ self.weights[0].T

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (w1, w2, w3), (b1, b2, b3) = self.weights, self.biases
        leak = torch.nn.functional.leaky_relu
        first = leak(torch.addmm(b1, x, w1), _SLOPE)
        second = leak(torch.addmm(b2, first, w2), _SLOPE)
        return first, second, torch.addmm(b3, second, w3)[:, 0]

    @staticmethod
    def _error(logits: Tensor, labels: Tensor) -> Tensor:
        # d/dz of the mean of -y ln s(z) - (1 - y) ln(1 - s(z)) is (s(z) - y) / B.
        return ((logits.sigmoid() - labels) / len(labels))[:, None]

    @staticmethod
    def _back(gradient: Tensor, value: Tensor) -> Tensor:
        # LeakyReLU keeps the sign, so its output reveals the sign of its input.
        return torch.where(value > 0, gradient, _SLOPE * gradient)
