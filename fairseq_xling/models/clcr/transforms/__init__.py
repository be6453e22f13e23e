"""Transforms: from the states of one encoder to those of another, found by name.

CLCR, section 3.1. To add one, put a file here with a `torch.nn.Module` registered under
``@transforms.register("name")``; it is made as ``Kind(width_in, width_out, hidden)`` and maps
(..., D) to (..., E). The widths may differ.

D input width, E output width, H hidden width.
"""

from torch import nn

from fairseq_xling.registry import Registry

transforms: Registry[type[nn.Module]] = Registry("`--transform`", __name__)


def from_zero(width_in: int, width_out: int) -> nn.Linear:
    """A linear map initialised to zero, including its bias.

    The paper does not say how T is initialised. Two independently trained encoders share no basis,
    so a T that distinguishes tokens before it has learnt their partners pairs them by chance, and
    then learns those pairs. From zero all tokens have equal weight: T learns what each token of a
    sentence shares with the mean of its translation, which is already a dictionary, and attention
    becomes sharper as T becomes more accurate.
    """
    linear = nn.Linear(width_in, width_out)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
