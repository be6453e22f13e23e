"""Option values with a structure of their own."""

import math
from collections.abc import Sequence

from fairseq_xling.core.errors import UserError
from fairseq_xling.core.registry import unknown_name


def parse_weights(
    option: str, text: str, names: Sequence[str], kind: str = "objective"
) -> dict[str, float]:
    """``name=number`` items separated by commas; names that are left out are 1.

    >>> parse_weights("--objective-weights", "tlm=0.5", ["mlm", "tlm"])
    {'mlm': 1.0, 'tlm': 0.5}
    """
    weights = {name: 1.0 for name in names}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = item.partition("=")
        if name not in weights:
            raise UserError(f"`{option}`: {unknown_name(kind, name, list(names))}")
        try:
            weights[name] = float(value)
        except ValueError:
            weights[name] = -1.0
        if not 0 <= weights[name] < math.inf:
            raise UserError(f"`{option}` must be name=number with numbers >= 0, got {item!r}")
    return weights
