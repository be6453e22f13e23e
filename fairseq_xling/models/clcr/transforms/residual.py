"""The paper's transform: a residual perceptron with one hidden layer (CLCR, section 3.1)."""

import torch
from torch import Tensor, nn

from fairseq_xling.models.clcr.transforms import from_zero, transforms


@transforms.register("residual")
class Residual(nn.Module):
    """T(r) = A r + a + C relu(B r + b), with A (E, D), B (H, D), C (E, H).

    A, a and C are initialised to zero (`fairseq_xling.models.clcr.transforms.from_zero`), B as
    usual; C has no bias, since a is one.

    >>> transform = Residual(2, 2, 3)
    >>> transform(torch.tensor([1.0, -2.0])).tolist()
    [0.0, 0.0]
    """

    def __init__(self, width_in: int, width_out: int, hidden: int):
        super().__init__()
        self.A = from_zero(width_in, width_out)
        self.B = nn.Linear(width_in, hidden)
        self.C = nn.Linear(hidden, width_out, bias=False)
        nn.init.zeros_(self.C.weight)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) to (..., E)."""
        return self.A(states) + self.C(torch.relu(self.B(states)))
