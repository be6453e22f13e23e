"""Spans in sequences of BIO tags: reading, repairing, counting.

A tag is ``O``, or ``B-X`` or ``I-X`` for a span of type X. Sequences need not be valid: spans are
read as in the CoNLL-2003 evaluation, where an ``I`` that continues nothing begins a span.
"""

from collections.abc import Callable, Sequence

from fairseq_xling.errors import UserError
from fairseq_xling.tasks.formats.conll import TaggedItem

Span = tuple[str, int, int]


def is_bio(tag: str) -> bool:
    """Whether it is a valid tag.

    >>> is_bio("O"), is_bio("I-PER"), is_bio("PER"), is_bio("B-"), is_bio("Orecurring")
    (True, True, False, False, False)
    """
    return tag == "O" or (tag[:2] in ("B-", "I-") and len(tag) > 2)


def check_bio(item: TaggedItem) -> None:
    """Reject invalid tags; an item without tags passes.

    Raises:
        UserError: for the first; names file and line.
    """
    check_tags(item.tags or (), item.place_of)


def check_tags(tags: Sequence[str], place_of: Callable[[int], str]) -> None:
    """Reject invalid tags.

    Raises:
        UserError: for the first; begins with its place.
    """
    for number, tag in enumerate(tags):
        if not is_bio(tag):
            raise UserError(f"{place_of(number)}: the tag must be O, B-TYPE or I-TYPE, got {tag!r}")


def spans(tags: Sequence[str]) -> set[Span]:
    """The spans of a sentence: type, first word, last word.

    >>> sorted(spans(["I-A", "I-A", "B-A", "I-B", "O"]))
    [('A', 0, 1), ('A', 2, 2), ('B', 3, 3)]
    """
    found, begun = set(), None
    for place, tag in enumerate([*tags, "O"]):
        if begun is not None and tag != f"I-{tags[begun][2:]}":
            found.add((tags[begun][2:], begun, place - 1))
            begun = None
        if begun is None and tag != "O":
            begun = place
    return found


def repair(tags: Sequence[str]) -> list[str]:
    """Make a sequence valid: a span begins with B, and its last type is the type of all of it.

    Conneau et al. (2020), Section 3.2.2: a standalone ``I-X`` becomes ``B-X``, and in ``B-X I-Y
    I-Z`` all become Z.

    >>> repair(["O", "I-A", "O", "B-A", "I-B", "I-C", "B-A"])
    ['O', 'B-A', 'O', 'B-C', 'I-C', 'I-C', 'B-A']
    """
    repaired = list(tags)
    kind = ""
    for place in range(len(tags) - 1, -1, -1):
        tag = tags[place]
        if tag == "O":
            kind = ""
            continue
        kind = kind or tag[2:]
        begins = tag.startswith("B-") or place == 0 or tags[place - 1] == "O"
        repaired[place] = f"{'B' if begins else 'I'}-{kind}"
        if begins:
            kind = ""
    return repaired


def count_spans(gold: Sequence[str], predicted: Sequence[str]) -> tuple[float, float, float]:
    """The numbers of correct, predicted and gold spans.

    >>> count_spans(["B-A", "I-A", "O", "B-B"], ["B-A", "I-A", "O", "B-A"])
    (1.0, 2.0, 2.0)
    """
    ours, theirs = spans(predicted), spans(gold)
    return float(len(ours & theirs)), float(len(ours)), float(len(theirs))
