"""The baseline of linear regression: the residual transform with C = 0 (CLCR, section 3.1)."""

from torch import Tensor, nn

from fairseq_xling.models.clcr.transforms import from_zero, transforms


@transforms.register("linear")
class Linear(nn.Module):
    """T(r) = A r + a, with A (E, D); ``hidden`` is ignored."""

    def __init__(self, width_in: int, width_out: int, hidden: int = 0):
        super().__init__()
        self.A = from_zero(width_in, width_out)

    def forward(self, states: Tensor) -> Tensor:
        """(..., D) to (..., E)."""
        return self.A(states)
