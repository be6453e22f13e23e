"""Transforms: from the states of one encoder to those of another, found by name.

CLCR, section 3.1 (SPEC C2). To add one, put a file here with a `torch.nn.Module` registered under
``@transforms.register("name")``; it is made as ``Kind(width_in, width_out, hidden)`` and maps
(..., D) to (..., E). The widths may differ.

D width that is read, E width that is written, H hidden width.
"""

from torch import nn

from fairseq_xling.registry import Registry

transforms: Registry[type[nn.Module]] = Registry("`--transform`", __name__)


def from_zero(width_in: int, width_out: int) -> nn.Linear:
    """A linear map that begins as zero, its bias too.

    The paper does not say how T begins. Two encoders that were trained apart share no basis, so a
    T that tells tokens apart before it has learnt which belong together pairs them by chance, and
    then learns those pairs. From zero all tokens weigh the same: T learns what each token of a
    sentence has in common with the mean of its translation, which is a dictionary already, and
    attention becomes as sharp as T has become right.
    """
    linear = nn.Linear(width_in, width_out)
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear
