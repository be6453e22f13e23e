"""The sizes of a shift that are tried on dev data, given as one text (see `shifted`).

Liu et al. (2020), Section 4.3, choose 1.5, .9, .7, .3 and .5 for five languages: steps of .1.
"""

import math

from fairseq_xling.errors import UserError

PAPER = "0.1:2.0:0.1"
_MOST = 1000  # each is a pass over the dev file
_DIGITS = 9


def parse_alphas(text: str) -> tuple[float, ...]:
    """Numbers separated by commas, or ``FIRST:LAST:STEP``, both ends included; ascending.

    >>> parse_alphas("0.5,0.3,1"), parse_alphas("0.1:0.5:0.2")
    ((0.3, 0.5, 1.0), (0.1, 0.3, 0.5))
    >>> len(parse_alphas(PAPER)), 0.7 in parse_alphas(PAPER)
    (20, True)

    Raises:
        UserError: for anything else, more than 1,000 numbers, or one that is repeated.
    """
    found = _between(text) if ":" in text else _each(text)
    if not found or not all(map(math.isfinite, found)) or len(set(found)) < len(found):
        raise UserError(
            "`--shift-alphas` must be different numbers, or FIRST:LAST:STEP with at most "
            f"{_MOST} steps, got {text!r}"
        )
    return tuple(sorted(found))


def _each(text: str) -> list[float]:
    try:
        found = [float(piece) for piece in text.split(",")]
    except ValueError:
        return []
    return found if len(found) <= _MOST else []


def _between(text: str) -> list[float]:
    try:
        first, last, step = (float(piece) for piece in text.split(":"))
    except ValueError:
        return []
    if not all(map(math.isfinite, (first, last, step))) or step <= 0 or last < first:
        return []
    steps = (last - first) / step
    if steps >= _MOST:
        return []
    # Multiples of a step such as 0.1 would otherwise end in 0.30000000000000004.
    return [round(first + k * step, _DIGITS) for k in range(math.floor(steps + 1e-6) + 1)]
