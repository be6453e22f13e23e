"""Layers of an encoder, as options name them."""

from fairseq_xling.core.errors import UserError


def parse_layers(text: str, last: int, option: str = "--layers") -> tuple[int, ...]:
    """Layers separated by commas, ranges with a dash, or ``all``; 0 is the embeddings.

    >>> parse_layers("0,2-4", 6), parse_layers("all", 2)
    ((0, 2, 3, 4), (0, 1, 2))
    """
    if text == "all":
        return tuple(range(last + 1))
    found: set[int] = set()
    for piece in text.split(","):
        ends = [end.strip() for end in piece.split("-")]
        if len(ends) > 2 or not all(end.isdecimal() for end in ends):
            raise UserError(f"`{option}` must look like 0,2-4 or all, got {text!r}")
        first, end = int(ends[0]), int(ends[-1])
        if end > last:
            raise UserError(f"`{option}` must lie in [0, {last}], got {text!r}")
        if first > end:
            raise UserError(f"`{option}` must have increasing ranges, got {piece.strip()!r}")
        found.update(range(first, end + 1))
    return tuple(sorted(found))
