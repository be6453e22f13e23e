"""The paper's transform: a residual perceptron with one hidden layer (SPEC C2)."""

import torch
from torch import Tensor, nn

from fairseq_xling.clcr.transforms import near_identity, transforms


@transforms.register("residual")
class Residual(nn.Module):
    """T(r) = A r + a + C relu(B r + b), with A (E, D), B (H, D), C (E, H).

    C begins as zero, so training starts from the linear map; C has no bias, since a is one.

    >>> transform = Residual(2, 2, 3)
    >>> transform(torch.tensor([1.0, -2.0])).tolist()
    [1.0, -2.0]
    """

    def __init__(self, width_in: int, width_out: int, hidden: int):
        super().__init__()
        self.A = near_identity(width_in, width_out)
        self.B = nn.Linear(width_in, hidden)
        self.C = nn.Linear(hidden, width_out, bias=False)
        nn.init.zeros_(self.C.weight)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) to (..., E)."""
        return self.A(states) + self.C(torch.relu(self.B(states)))
