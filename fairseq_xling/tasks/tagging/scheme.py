"""Tags as the network predicts them: as annotated, or IOBES.

Files have BIO. ``bio`` keeps it; ``iobes`` marks the last word of a span (E) and a span of one word
(S) as well, which a CRF can use.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairseq_xling.tasks.spans import spans


@dataclass(frozen=True)
class Scheme:
    """One scheme: ``encode`` BIO tags of a sentence, ``decode`` them, ``marks`` of each type."""

    encode: Callable[[Sequence[str]], list[str]]
    decode: Callable[[Sequence[str]], list[str]]
    marks: str

    def tags(self, found: Iterable[str]) -> list[str]:
        """All tags of the types among the BIO tags ``found``, O first.

        >>> SCHEMES["bio"].tags(["O", "B-PER", "I-LOC"])
        ['O', 'B-LOC', 'I-LOC', 'B-PER', 'I-PER']
        """
        kinds = sorted({tag[2:] for tag in found if tag != "O"})
        return ["O", *(f"{mark}-{kind}" for kind in kinds for mark in self.marks)]


def to_iobes(tags: Sequence[str]) -> list[str]:
    """IOBES from BIO.

    >>> to_iobes(["B-A", "I-A", "I-A", "O", "B-B"])
    ['B-A', 'I-A', 'E-A', 'O', 'S-B']
    """
    found = ["O"] * len(tags)
    for kind, first, last in spans(tags):
        found[first : last + 1] = [f"I-{kind}"] * (last - first + 1)
        found[first] = f"B-{kind}"
        found[last] = f"{'S' if first == last else 'E'}-{kind}"
    return found


def from_iobes(tags: Sequence[str]) -> list[str]:
    """BIO from IOBES, word by word, so that also an invalid sequence has tags.

    >>> from_iobes(["B-A", "I-A", "E-A", "O", "S-B"])
    ['B-A', 'I-A', 'I-A', 'O', 'B-B']
    """
    marks = {"S": "B", "E": "I"}
    return [f"{marks.get(tag[0], tag[0])}{tag[1:]}" if tag != "O" else tag for tag in tags]


SCHEMES = {
    "bio": Scheme(list, list, "BI"),
    "iobes": Scheme(to_iobes, from_iobes, "BIES"),
}
