"""The non-linearities of feed-forward layers and of BERT's LM head."""

import torch.nn.functional as F
from torch import Tensor

from fairseq_xling.core.registry import Registry

activations: Registry = Registry("activation")

activations.register("gelu")(F.gelu)
activations.register("relu")(F.relu)


@activations.register("gelu_tanh")
def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its approximation with tanh."""
    return F.gelu(x, approximate="tanh")
