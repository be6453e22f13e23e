"""Another learning rate for a part of a model.

fairseq gives all parameters one learning rate. A part that should learn ``r`` times as fast is
stored as ``w / r`` and used as ``r * (w / r)``: Adam's steps do not depend on the scale of a
gradient, so each moves ``w`` by ``r`` times the learning rate.
"""

from torch import Tensor, nn
from torch.nn.utils import parametrize

from fairseq_xling.errors import UserError


class _Times(nn.Module):
    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, stored: Tensor) -> Tensor:
        return stored * self.factor

    def right_inverse(self, value: Tensor) -> Tensor:
        return value / self.factor


def train_faster(module: nn.Module, factor: float) -> None:
    """Let Adam train ``module``'s parameters at ``factor`` times the learning rate.

    Raises:
        UserError: unless the factor is above 0.
    """
    if not factor > 0:
        raise UserError(f"`--head-lr` and `--lr` must be above 0, got a ratio of {factor:g}")
    for part in list(module.modules()):
        for name, parameter in list(part.named_parameters(recurse=False)):
            if parameter.requires_grad:
                parametrize.register_parametrization(part, name, _Times(factor))
