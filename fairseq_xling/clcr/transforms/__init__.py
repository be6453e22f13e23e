"""Transforms: from the states of one encoder to those of another, found by name.

CLCR, section 3.1 (SPEC C2). To add one, put a file here with a `torch.nn.Module` registered under
``@transforms.register("name")``; it is made as ``Kind(width_in, width_out, hidden)`` and maps
(..., D) to (..., E). The widths may differ.

D width that is read, E width that is written, H hidden width.
"""

import torch
from torch import nn

from fairseq_xling.registry import Registry

transforms: Registry[type[nn.Module]] = Registry("`--transform`", __name__)


def near_identity(width_in: int, width_out: int) -> nn.Linear:
    """A linear map that begins as the identity (cut or filled up with zeros), without bias.

    The paper does not say how T begins. Two encoders that were trained apart share no basis, so no
    start is right for them; this one gives every direction the same length, which lets attention
    tell tokens apart from the first step, and is exact where the second encoder began as the first.
    """
    linear = nn.Linear(width_in, width_out)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(width_out, width_in))
        linear.bias.zero_()
    return linear
