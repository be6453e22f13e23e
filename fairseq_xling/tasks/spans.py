"""Spans in sequences of BIO tags: reading, repairing, counting, schemes, realigning.

A tag is ``O``, or ``B-X`` or ``I-X`` for a span of type X. Sequences need not be valid: spans are
read as in the CoNLL-2003 evaluation, where an ``I`` that continues nothing begins a span. The
scheme ``iobes`` of a tagger marks the last word of a span (E) and a span of one word (S) as well,
which a CRF can use; files have BIO.

Conneau et al. (2020), "Emerging Cross-lingual Structure", Section 3.2: Chinese entities are
annotated on characters, while the text that encoders read is segmented. A word belongs to the
entity that covers at least half of its characters, of two such entities to the first one.

N characters of a sentence, W words.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fairseq_xling.core.errors import UserError, shown
from fairseq_xling.core.files import atomic_write
from fairseq_xling.core.texts import blank_separated, read_lines
from fairseq_xling.tasks.formats.conll import UNTAGGED, Conll, TaggedItem

Span = tuple[str, int, int]


def is_bio(tag: str) -> bool:
    """Whether it is a valid tag.

    >>> is_bio("O"), is_bio("I-PER"), is_bio("PER"), is_bio("B-"), is_bio("Orecurring")
    (True, True, False, False, False)
    """
    return tag == "O" or (tag[:2] in ("B-", "I-") and len(tag) > 2)


def check_bio(item: TaggedItem) -> None:
    """Reject invalid tags; an item without tags passes, and so does a word without one."""
    tags = ("O" if tag == UNTAGGED else tag for tag in item.tags or ())
    check_tags(tuple(tags), item.place_of)


def check_tags(tags: Sequence[str], place_of: Callable[[int], str]) -> None:
    """Reject invalid tags."""
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


class Realigned(NamedTuple):
    """Tags (W,), and how many entities kept both boundaries, moved one, or have no word."""

    tags: list[str]
    kept: int
    moved: int
    lost: int


@dataclass(frozen=True)
class Summary:
    """What `realign_file` did: numbers of sentences, and of entities as in `Realigned`."""

    sentences: int
    kept: int
    moved: int
    lost: int


def realign(entities: Sequence[tuple[str, int, int]], lengths: Sequence[int]) -> Realigned:
    """The tags of words from entities of characters.

    Args:
        entities: type and characters [first, end) of each, in order, without overlap.
        lengths: of the words, in characters; their sum is N.

    >>> realign([("LOC", 0, 3), ("PER", 3, 4)], [2, 2, 1])  # half of the second word is each's
    Realigned(tags=['B-LOC', 'I-LOC', 'O'], kept=0, moved=1, lost=1)
    """
    tags: list[str] = []
    found: dict[int, tuple[int, int]] = {}
    start, nearest = 0, 0
    for length in lengths:
        end = start + length
        while nearest < len(entities) and entities[nearest][2] <= start:
            nearest += 1
        owner = None
        for number in range(nearest, len(entities)):
            _, first, last = entities[number]
            if first >= end:
                break
            if 2 * (min(end, last) - max(start, first)) >= length:
                owner = number
                break
        if owner is None:
            tags.append("O")
        else:
            tags.append(f"{'I' if owner in found else 'B'}-{entities[owner][0]}")
            found[owner] = (found[owner][0] if owner in found else start, end)
        start = end
    kept = sum(found.get(number) == (a, b) for number, (_, a, b) in enumerate(entities))
    return Realigned(tags, kept, len(found) - kept, len(entities) - len(found))


def realign_file(source: Path, words: Path, output: Path, columns: Mapping[str, str]) -> Summary:
    """Write ``word<TAB>tag`` lines for the sentences of ``source``, a blank line after each.

    Lines with ``-DOCSTART-`` are kept.

    Args:
        source: a character, or several, and its BIO tag on each line, as in `tasks.formats.conll`.
        words: the segmenter's output, one sentence per line, spaces between words; without the
            language that WikiANN's tokens begin with, which is written again.

    Raises:
        UserError: for a malformed file, or words that do not spell the same text; names file and
            line.
    """
    sentences = kept = moved = lost = 0
    with atomic_write(output, "w") as file:
        for item, row in _pairs(source, words, columns):
            one = realign(_entities(item), [len(_letters(word)) for word in row])
            rows = zip(row, one.tags, strict=True)
            lines = (f"{item.language}{word}\t{tag}\n" for word, tag in rows)
            file.writelines([*(f"{line}\n\n" for line in item.documents), *lines, "\n"])
            sentences, kept = sentences + 1, kept + one.kept
            moved, lost = moved + one.moved, lost + one.lost
    return Summary(sentences, kept, moved, lost)


def _pairs(
    source: Path, words: Path, columns: Mapping[str, str]
) -> Iterator[tuple[TaggedItem, list[str]]]:
    """The sentences with their words."""
    lines, number = enumerate(read_lines(words), start=1), 0
    for item in Conll.read(source, columns):
        if item.every_tag is None:
            raise UserError(f"{item.place}: must have a tag for each character, got no tags")
        check_bio(item)
        number, line = next(lines, (number + 1, None))
        if line is None:
            raise UserError(f"{words}:{number}: has no line for the sentence of {item.place}")
        row, text = blank_separated(line), _letters("".join(item.words))
        if _letters(line) != text:
            raise UserError(
                f"{words}:{number}: must spell the text of {item.place}, {shown(text)}, got "
                f"{shown(line)}"
            )
        yield item, row
    extra = next(lines, None)
    if extra is not None:
        raise UserError(f"{words}:{extra[0]}: must end with the last sentence of {source}")


def _letters(text: str) -> str:
    """The characters that count: segmenters may change white space inside of words."""
    return "".join(text.split())


def _entities(item: TaggedItem) -> list[tuple[str, int, int]]:
    """Entities in characters: type, first, end."""
    ends = [0]
    for word in item.words:
        ends.append(ends[-1] + len(_letters(word)))
    found = sorted(spans(item.tags or ()), key=lambda span: span[1])
    return [(kind, ends[first], ends[last + 1]) for kind, first, last in found]
